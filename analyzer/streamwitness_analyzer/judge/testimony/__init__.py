"""What one point says: the record of its blocks, its judged events, what it counted."""
