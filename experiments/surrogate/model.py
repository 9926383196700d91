"""The network in torch, for training.  `autobct.belief.surrogate.network` evaluates the same weights in NumPy.

Runs have one token for each coordinate and one for the run as a whole.  A coordinate's token sees the same coordinate
of all runs.  What all tokens of a coordinate say together makes functions of that coordinate, which every row, a run or
a candidate, is read with, and says how much the coordinate counts for what is near: rows look at the runs, the more the
nearer they are.  So the order of parameters makes no difference, nor does that of runs, there may be any number of
both, and a candidate, which has no tokens of its own coordinates and sees no other candidate, is cheap.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from autobct.belief.surrogate.network import HEAD, NARROW_HEAD, NEAREST
from autobct.belief.surrogate.network_inputs import FACTS, OUTPUTS, PLACE, SHAPES, WAVES, WHOLE


class Rows(NamedTuple):
    """Rows of B tunings, the first N of them context, guess and runs, the others candidates; F coordinates.

    place: (B, T, F) numbers as 2 u - 1, choices as 0 or 1, 0 where there is no coordinate
    whole: (B, T, WHOLE) outcome and context of a row;  facts: (B, F, FACTS);  exists: (B, F) 0 or 1
    mask:  (B, N) which of the first rows there are;  the first of all is the context, which has no place
    """

    place: Tensor
    whole: Tensor
    facts: Tensor
    exists: Tensor
    mask: Tensor


class Block(nn.Module):
    """Coordinates of the runs look at each other, rows read their places, look at the runs, and think."""

    def __init__(self, width: int, narrow: int, *, last: bool) -> None:
        super().__init__()
        heads, self.last = width // HEAD, last
        self.norm1, self.norm2 = nn.LayerNorm(narrow), nn.LayerNorm(narrow)
        self.column_query, self.column_key_value = nn.Linear(narrow, narrow), nn.Linear(narrow, 2 * narrow)
        self.column_out = nn.Linear(narrow, narrow)
        self.shapes, self.read = nn.Linear(narrow, PLACE * SHAPES), nn.Linear(SHAPES, width)
        self.relevance = nn.Linear(narrow, heads)
        with torch.no_grad():
            self.relevance.bias.copy_(torch.linspace(-3.0, 3.0, heads))
        self.near = nn.Parameter(torch.linspace(-3.0, 0.5, heads))
        self.sharp = nn.Parameter(torch.full((heads,), 5.0))
        self.norm3, self.norm4 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key_value = nn.Linear(width, width), nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        if not last:
            self.gather = nn.Linear(narrow, width)
            self.norm5, self.norm6 = nn.LayerNorm(narrow), nn.LayerNorm(width)
            self.column_up, self.side = nn.Linear(narrow, 2 * narrow), nn.Linear(width, 2 * narrow)
            self.column_down = nn.Linear(2 * narrow, narrow)

    def forward(
        self,
        row: Tensor,
        column: Tensor,
        basis: Tensor,
        square: Tensor,
        hidden: Tensor,
        exists: Tensor,
        mask: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """row: (B, T, W),  column: (B, F, N, w),  basis: (B, T, F, PLACE),  square: (B, T x N, F),
        hidden: (B, N) 0, or -1e4 for none;  exists, mask: as `Rows` has them."""
        batch, features, split, _ = column.shape
        count = row.shape[1]
        normed = self.norm1(column)
        query = _headed(self.column_query(normed), NARROW_HEAD)
        key, value = (_headed(part, NARROW_HEAD) for part in self.column_key_value(normed).chunk(2, dim=-1))
        bias = hidden[:, None, None, None].expand(batch, features, query.shape[2], split, split)
        seen = F.scaled_dot_product_attention(
            query.flatten(0, 1), key.flatten(0, 1), value.flatten(0, 1), attn_mask=bias.flatten(0, 1).to(query.dtype)
        )
        column = column + self.column_out(seen.transpose(1, 2).flatten(2).unflatten(0, (batch, features)))
        normed = self.norm2(column)
        weight = mask.to(normed.dtype)[:, None, :, None]
        typical = (normed * weight).sum(dim=2) / weight.sum(dim=2)
        exists = exists.to(normed.dtype)
        shapes = self.shapes(typical).unflatten(-1, (PLACE, SHAPES)) * exists[:, :, None, None]
        shaped = F.relu(torch.einsum("btfp,bfpm->btfm", basis, shapes.to(basis.dtype))).sum(dim=2)
        row = row + self.read(shaped)
        relevance = F.softplus(self.relevance(typical)) * exists[..., None]
        away = (square @ relevance.to(square.dtype)).float().unflatten(1, (count, split)).permute(0, 3, 1, 2)
        near = F.softplus(self.near)[:, None, None]
        bias = hidden[:, None, None] - placed(count, split, away.device) * (away + near * torch.log(away + NEAREST))
        normed3 = self.norm3(row)
        query = F.normalize(_headed(self.query(normed3), HEAD), dim=-1) * self.sharp[:, None, None]
        key, value = (_headed(part, HEAD) for part in self.key_value(normed3[:, :split]).chunk(2, dim=-1))
        query, key = query.to(value.dtype), F.normalize(key, dim=-1).to(value.dtype)
        looked = F.scaled_dot_product_attention(query, key, value, attn_mask=bias.to(value.dtype), scale=1.0)
        row = row + self.out(looked.transpose(1, 2).flatten(2))
        row = row + self.down(_gelu(self.up(self.norm4(row))))
        if self.last:
            return row, column
        known = (normed * exists[:, :, None, None]).sum(dim=1) / exists.sum(dim=1)[:, None, None]
        row = torch.cat([row[:, :split] + self.gather(known), row[:, split:]], dim=1)
        told = self.side(self.norm6(row[:, :split]))[:, None]
        return row, column + self.column_down(F.relu(self.column_up(self.norm5(column)) + told))


class Network(nn.Module):
    """Rows of runs and of candidates -> logits of what candidates score and cost."""

    def __init__(self, width: int = 128, narrow: int = 48, layers: int = 4) -> None:
        super().__init__()
        self.place, self.fact = nn.Linear(PLACE, narrow), nn.Linear(FACTS, narrow, bias=False)
        self.shared = nn.Linear(WHOLE, narrow, bias=False)
        self.embed = nn.Linear(narrow, narrow)
        self.whole, self.whole2 = nn.Linear(WHOLE, width), nn.Linear(width, width)
        self.blocks = nn.ModuleList([Block(width, narrow, last=k == layers - 1) for k in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, OUTPUTS)
        self.register_buffer("angles", torch.tensor(WAVES), persistent=False)

    def forward(self, place: Tensor, whole: Tensor, facts: Tensor, exists: Tensor, mask: Tensor) -> Tensor:
        """Logits at the candidates.  (B, T - N, OUTPUTS).  All as `Rows` has them."""
        split = mask.shape[1]
        square = (place[:, :, None] - place[:, None, :split]).square().flatten(1, 2) / 4.0
        hidden = torch.where(mask, 0.0, -1e4)
        angle = place[..., None] * self.angles
        straight = torch.stack([torch.ones_like(place), place, place.square()], dim=-1)
        basis = torch.cat([straight, torch.sin(angle), torch.cos(angle)], dim=-1)
        basis = torch.cat([torch.zeros_like(basis[:, :1]), basis[:, 1:]], dim=1)
        token = self.place(basis[:, :split]).transpose(1, 2)
        token = token + self.fact(facts)[:, :, None] + self.shared(whole[:, :split])[:, None]
        column = self.embed(F.relu(token))
        row = self.whole2(_gelu(self.whole(whole)))
        basis, square = basis.to(column.dtype), square.to(column.dtype)
        for block in self.blocks:
            row, column = block(row, column, basis, square, hidden, exists, mask)
        return self.head(self.norm(row[:, split:]))


def placed(count: int, split: int, device: torch.device) -> Tensor:
    """(T, N) 0 to and from the context, which has no place, and 1 between all others."""
    rows, runs = torch.arange(count, device=device)[:, None], torch.arange(split, device=device)
    return ((rows > 0) & (runs > 0)).float()


def _headed(rows: Tensor, width: int) -> Tensor:
    """(..., T, W) -> (..., heads, T, width)."""
    return rows.unflatten(-1, (-1, width)).transpose(-2, -3)


def _gelu(x: Tensor) -> Tensor:
    return F.gelu(x, approximate="tanh")
