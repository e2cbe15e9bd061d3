#!/usr/bin/env python3
"""Trains the policy that steers samples/godot's crowd, and exports it to ONNX.

  policy.py samples/godot                        writes demo/policy.onnx, and tests/policy.json with PyTorch's results
  policy.py FOLDER [--walks COUNT]               the same in another folder, after so many walks instead of 500

The simulation step and the loss are differentiable: agents should reach their goals without touching each other. So the policy
learns by gradient descent through its walks; there is no reward and no imitation. It needs PyTorch (Debian's python3-torch 1.13 is
enough).
"""
import argparse
import json
import math
import pathlib

import torch
from torch import nn

RADIUS = 0.3        # metres, radius of an agent
FASTEST = 1.5       # metres a second
REACTION = 0.3      # seconds until the velocity is near the wanted one


class Policy(nn.Module):
    """The velocity [agents, 2] that each of the agents [agents, 6] (position, velocity, goal; metres) wants.

        Each head attends to the others at their positions after some time: a softmax over -distance^2 / (2 reach^2), with a learned
        reach and time. A head also attends to the agent itself, so that a lone agent has a visible key. Everything is rotated so
        that the goal is straight ahead.
    """

    def __init__(self, heads=8, hidden=64):
        super().__init__()
        self.reach = nn.Parameter(torch.linspace(math.log(0.5), math.log(2.0), heads))
        self.time = nn.Parameter(torch.linspace(0.0, 2.0, heads).roll(heads // 2))
        self.net = nn.Sequential(nn.Linear(4 + 5 * heads, hidden), nn.ELU(), nn.Linear(hidden, hidden), nn.ELU(), nn.Linear(hidden, 2))

    def look(self, position, velocity):
        """Mean position, velocity and squared distance of each head's keys, relative to the agent: 5 x [heads, agents]."""
        at = position + self.time.view(-1, 1, 1) * velocity                      # [heads, agents, 2]
        near = at / self.reach.exp().view(-1, 1, 1)
        square = (at * at).sum(-1, keepdim=True)
        ones = torch.ones_like(square)
        query = torch.cat([near, ones], -1)
        key = torch.cat([near, -0.5 * (near * near).sum(-1, keepdim=True)], -1)
        value = torch.cat([at, velocity + torch.zeros_like(at), square], -1)     # [heads, agents, 5]
        seen = torch.softmax(query @ key.transpose(1, 2), -1) @ value
        away = seen[..., :2] - at
        spread = seen[..., 4:] - square - 2.0 * (at * away).sum(-1, keepdim=True)
        return away, seen[..., 2:4] - velocity, spread

    def forward(self, agents):
        position, velocity, goal = agents[:, 0:2], agents[:, 2:4], agents[:, 4:6] - agents[:, 0:2]
        distance = torch.sqrt((goal * goal).sum(-1, keepdim=True) + 1e-4)
        ahead = goal / distance                                                  # [agents, 2]
        left = torch.cat([-ahead[:, 1:], ahead[:, :1]], -1)

        def turned(x):
            return torch.stack([(x * ahead).sum(-1), (x * left).sum(-1)], -1)

        away, relative, spread = self.look(position, velocity)
        far = 1.0 - torch.exp(-distance)
        seen = torch.cat([turned(away), turned(relative), spread], -1).transpose(0, 1).flatten(1)
        want = self.net(torch.cat([turned(velocity), far, torch.exp(-0.3 * distance), seen], -1))
        straight = torch.cat([FASTEST * far, torch.zeros_like(far)], -1)
        want = straight + want
        want = want * (FASTEST / torch.sqrt((want * want).sum(-1, keepdim=True) + FASTEST * FASTEST * 0.25)).clamp(max=1.0)
        return want[:, :1] * ahead + want[:, 1:] * left


def crossing(agents):
    """Agents on a circle, or at random positions, with goals on the opposite side."""
    way = torch.randint(0, 3, ()).item()
    size = math.sqrt(agents) * (0.5 + 0.4 * torch.rand(()).item())
    if way == 0:
        angle = torch.arange(agents) * (2 * math.pi / agents) + 0.05 * torch.randn(agents)
        ring = max(size, 0.8 * agents * RADIUS * 2 / (2 * math.pi))
        position = ring * torch.stack([angle.cos(), angle.sin()], -1)
        goal = -position
    else:
        side = math.ceil(math.sqrt(agents))
        cells = torch.randperm(side * side)[:agents]
        spots = torch.stack([cells % side, cells // side], -1).float() - side / 2
        position = 1.3 * spots + 0.3 * torch.rand(agents, 2)
        goal = position[torch.randperm(agents)] if way == 1 else position * torch.tensor([-1.0, 1.0]) + 0.2 * torch.randn(agents, 2)
    return torch.cat([position + 0.02 * torch.randn(agents, 2), torch.zeros(agents, 2), goal], -1)


def step(agents, want, seconds):
    position, velocity, goal = agents[:, 0:2], agents[:, 2:4], agents[:, 4:6]
    velocity = velocity + (want - velocity) * (1.0 - math.exp(-seconds / REACTION))
    return torch.cat([position + seconds * velocity, velocity, goal], -1)


def touching(position, room):
    """The overlap of others with the distance `room` of each agent: the sum of squares."""
    difference = position[:, None] - position[None]
    distance = torch.sqrt((difference * difference).sum(-1) + 1e-6)
    deep = torch.relu(room - distance) * (1.0 - torch.eye(len(position)))
    return (deep * deep).sum(-1)


def walk(policy, agents, steps, seconds=0.1):
    """Continues the walk. Returns the loss of these steps, and the agents' state."""
    loss = 0.0
    for _ in range(steps):
        before = agents
        agents = step(agents, policy(agents), seconds)
        left = torch.sqrt(((agents[:, 4:6] - agents[:, 0:2]) ** 2).sum(-1) + 1e-4)
        turn = ((agents[:, 2:4] - before[:, 2:4]) ** 2).sum(-1)
        loss = loss + (0.5 * torch.tanh(left / 2.0) + 0.2 * left / 3.0 + 60.0 * touching(agents[:, :2], 2.5 * RADIUS) + 0.6 * turn).mean()
    return loss / steps, agents


def train(policy, walks, parts=8):
    """Backpropagates through each walk in parts of three seconds, so that all of it counts and gradient paths stay short."""
    optimizer = torch.optim.Adam(policy.parameters(), 2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(walks * parts, 1))
    for i in range(walks):
        agents = crossing(torch.randint(8, 97, ()).item())
        for _ in range(parts):
            loss, agents = walk(policy, agents.detach(), 30)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 0.3)
            optimizer.step()
            schedule.step()
        if i % 20 == 0:
            print(f"walk {i}: {loss.item():.4f}", flush=True)


def ring(agents):
    """The crowd of the demo."""
    angle = torch.arange(agents) * (2 * math.pi / agents)
    places = max(8.0, 2.7 * RADIUS * agents / (2 * math.pi)) * torch.stack([angle.cos(), angle.sin()], -1)
    return torch.cat([places, torch.zeros(agents, 2), -places], -1)


def judge(policy, agents, seconds, pace=1 / 30):
    """The share of agents that reached their goals, and how many others one touches on average."""
    touches = 0
    with torch.no_grad():
        for _ in range(int(seconds / pace)):
            agents = step(agents, policy(agents), pace)
            difference = agents[:, None, :2] - agents[None, :, :2]
            near = (difference * difference).sum(-1).sqrt() < 2 * RADIUS
            touches += near.sum().item() - len(agents)
        left = (agents[:, 4:6] - agents[:, :2]).norm(dim=-1)
    return (left < 0.5).float().mean().item(), touches / (len(agents) * int(seconds / pace))


def tell(policy):
    for agents in (32, 96):
        came, touched = judge(policy, ring(agents), 40.0)
        print(f"{agents} agents cross a circle in 40 s: {came:.0%} came, and each touched {touched:.4f} others at a time")


def export(policy, path):
    torch.onnx.export(policy, torch.zeros(3, 6), path, input_names=["agents"], output_names=["velocity"],
                      dynamic_axes={"agents": {0: "count"}, "velocity": {0: "count"}})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--walks", type=int, default=500)
    arguments = parser.parse_args()
    torch.manual_seed(1)
    policy = Policy()
    train(policy, arguments.walks)
    policy.eval()
    tell(policy)
    torch.manual_seed(2)
    for part in ("demo", "tests"):
        (arguments.folder / part).mkdir(parents=True, exist_ok=True)
    export(policy, arguments.folder / "demo/policy.onnx")
    agents = crossing(7)
    agents[:, 2:4] = 0.5 * torch.randn(7, 2)
    with torch.no_grad():
        velocity = policy(agents)
    told = {"agents": agents.flatten().tolist(), "velocity": velocity.flatten().tolist()}
    (arguments.folder / "tests/policy.json").write_text(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
