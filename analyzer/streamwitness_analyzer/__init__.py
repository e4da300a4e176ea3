"""The analyzer: joins the blocks of a stream, judges them, stores the verdict and answers questions about it."""

from __future__ import annotations
