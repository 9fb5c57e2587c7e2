"""Muon for the matrices (Jordan et al. 2024, "Muon: an optimizer for hidden layers"), Adam for embeddings and norms.

Both as plain updates of given tensors, so that processes can share the work: each updates the parameters it owns.
"""

import torch


def orthogonalise(g: torch.Tensor, steps: int = 5) -> torch.Tensor:
    """Near-orthogonal matrices with the directions of g [n, rows, columns]: Newton-Schulz, the source's numbers."""
    a, b, c = 3.4445, -4.7750, 2.0315
    tall = g.shape[-2] > g.shape[-1]
    x = g.transpose(-2, -1) if tall else g
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(steps):
        s = x @ x.transpose(-2, -1)
        x = a * x + (b * s + c * s @ s) @ x
    return x.transpose(-2, -1) if tall else x


class Muon:
    def __init__(self, params: list[torch.Tensor], momentum: float = 0.95, decay: float = 0.1):
        self.params, self.momentum, self.decay = params, momentum, decay
        self.state = [torch.zeros_like(p) for p in params]

    def step(self, grads: list[torch.Tensor], rate: float) -> None:
        by_shape: dict[torch.Size, list[int]] = {}
        for i, p in enumerate(self.params):
            by_shape.setdefault(p.shape, []).append(i)
        for shape, members in by_shape.items():
            for i in members:
                self.state[i].lerp_(grads[i], 1 - self.momentum)
            nesterov = torch.stack([grads[i].lerp(self.state[i], self.momentum) for i in members])
            update = orthogonalise(nesterov) * max(1, shape[0] / shape[1]) ** 0.5
            for u, i in zip(update, members):
                self.params[i].mul_(1 - rate * self.decay).sub_(u, alpha=rate)


class Adam:

    def __init__(self, params: list[torch.Tensor], betas=(0.9, 0.98), epsilon: float = 1e-8):
        self.params, self.betas, self.epsilon = params, betas, epsilon
        self.state = [[torch.zeros_like(p), torch.zeros_like(p)] for p in params]
        self.n = 0

    def step(self, grads: list[torch.Tensor], rate: float) -> None:
        self.n += 1
        (b1, b2), n = self.betas, self.n
        for p, g, (m, v) in zip(self.params, grads, self.state):
            m.lerp_(g, 1 - b1)
            v.mul_(b2).addcmul_(g, g, value=1 - b2)
            p.addcdiv_(m, (v / (1 - b2**n)).sqrt_().add_(self.epsilon), value=-rate / (1 - b1**n))
