"""Any OpenAI-compatible endpoint, by way of the official SDK, which is imported on the first call only."""
