"""Benchmarks: ratios beside peers, measured in one run. `make bench`; how to read and extend it: README.md."""
