"""From blocks to OTLP: a bounded queue, one thread, OpenTelemetry's exporter. Importing this loads none of them."""
