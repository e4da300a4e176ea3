"""The bench of truth: streams whose faults are known, judged, and every verdict held against what really happened."""
