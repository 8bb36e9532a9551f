"""PyTorch: gradbag's layer, whose backward moves the table; the tape and PyTorch's own functions for the rest."""

from __future__ import annotations

import torch
from torch.nn.functional import silu, softplus

import gradbag.torch
from gradbag import Bags
from gradbag.optim import Optimizer

from . import network
from .data import Array

FUNCTIONS = network.Functions(silu, softplus)


class Model:
    def __init__(self, parameters: dict[str, Array], optimizer: Optimizer, longest: int) -> None:
        tensors = {name: torch.from_numpy(value.copy()) for name, value in parameters.items()}
        self.bag = gradbag.torch.EmbeddingBag(*tensors["table"].shape, _weight=tensors.pop("table"), fused=optimizer)
        self.dense = torch.nn.ParameterDict({name: torch.nn.Parameter(value) for name, value in tensors.items()})
        kind = getattr(gradbag.torch.optim, type(optimizer).__name__)
        self.optimizer = kind(self.dense.parameters(), **vars(optimizer))
        for parameter in self.dense.values():
            self.optimizer.state[parameter] = optimizer.init(parameter.detach())

    def step(self, bags: Bags, labels: Array) -> float:
        loss = network.loss(FUNCTIONS, self.dense, self.bag(bags), torch.from_numpy(labels))
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.item()

    @torch.no_grad()
    def logits(self, bags: Bags) -> Array:
        answer: Array = network.logits(FUNCTIONS, self.dense, self.bag(bags)).numpy()
        return answer

    def arrays(self) -> dict[str, Array]:
        tensors = {name.replace("fused_", "table."): value for name, value in self.bag.state_dict().items()}
        tensors["table"] = tensors.pop("weight")
        for name, parameter in self.dense.items():
            tensors[name] = parameter.detach()
            for key, value in self.optimizer.state[parameter].items():
                tensors[f"{name}.{key}"] = torch.as_tensor(value)
        return {name: value.numpy().copy() for name, value in tensors.items()}

    def load(self, arrays: dict[str, Array]) -> None:
        tensors = {name: torch.from_numpy(value.copy()) for name, value in arrays.items()}
        own = {name: name.replace("fused_", "table.") for name in self.bag.state_dict()} | {"weight": "table"}
        self.bag.load_state_dict({name: tensors[key] for name, key in own.items()})
        self.dense.load_state_dict({name: tensors[name] for name in self.dense})
        for name, parameter in self.dense.items():
            state = self.optimizer.state[parameter]
            state.update({key: tensors[f"{name}.{key}"] for key in state})
            state["step"] = int(state["step"])
