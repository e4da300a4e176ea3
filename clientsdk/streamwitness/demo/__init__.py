"""The demo: real sockets, real clients, one known fault a stream, and the verdicts laid beside the faults."""
