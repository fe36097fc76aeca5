"""How large the code is: `python -m benchmarks.size` prints files, statements and syntax nodes.

Statements are every `ast.stmt` but docstrings, which neither layout nor comments change.
"""

import ast
from pathlib import Path


def size(folder: Path) -> tuple[int, int, int]:
    """Files, statements and nodes of the Python files under a folder."""
    trees = [ast.parse(path.read_bytes()) for path in sorted(folder.rglob("*.py"))]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    texts = sum(isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant) for n in nodes)
    return len(trees), sum(isinstance(n, ast.stmt) for n in nodes) - texts, len(nodes)


if __name__ == "__main__":
    for name in ("gnc_cli", "tests", "benchmarks"):
        files, statements, nodes = size(Path(__file__).parents[1] / name)
        print(f"{name:10}  {files:4} files  {statements:6,} statements  {nodes:8,} nodes")
