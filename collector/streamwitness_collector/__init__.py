"""The collector: takes blocks as OTLP over HTTP, checks who may say what, and hands them to a sink. Stateless."""

from __future__ import annotations
