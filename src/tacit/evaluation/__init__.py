"""What policies are worth: private estimates of values and differences. See docs/evaluation.md."""
