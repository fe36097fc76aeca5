"""Collapse metrics inside other trainers: torchmetrics, Lightning, transformers, TensorBoard."""
