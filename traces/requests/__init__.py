"""The request log: each answer judged by the model's coordinator, and who owned what when."""
