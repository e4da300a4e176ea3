# One image for every part: `docker run streamwitness:0.1.0 COMMAND`.
FROM python:3.13.7-slim-bookworm AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY clientsdk ./clientsdk
COPY collector ./collector
COPY analyzer ./analyzer
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.13.7-slim-bookworm
COPY constraints.txt /tmp/constraints.txt
COPY --from=build /wheels /tmp/wheels
RUN pip install --no-cache-dir --constraint /tmp/constraints.txt "$(ls /tmp/wheels/*.whl)[all]" \
    && useradd --create-home --uid 10001 streamwitness
USER streamwitness
# SQLite files of `up` and `demo` land here; mount a volume to keep them.
WORKDIR /home/streamwitness
# 4318 takes OTLP (collector, up), 4319 answers queries (analyzer).
EXPOSE 4318 4319
ENTRYPOINT ["streamwitness"]
