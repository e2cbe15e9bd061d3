"""The loss of proximal policy optimization (Schulman et al. 2017, arXiv:1707.06347), and its gradients of all weights."""

import torch
from torch import nn

import heed
from port import Port, ready

STEPS, SEEN, WIDTH, ACTIONS = 64, 12, 32, 5
CLIP, OF_VALUE, OF_ENTROPY = 0.2, 0.5, 0.01


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(SEEN, WIDTH)
        self.policy, self.value = nn.Linear(WIDTH, ACTIONS), nn.Linear(WIDTH, 1)

    def forward(self, seen):
        x = self.trunk(seen).tanh()
        return self.policy(x), self.value(x).squeeze(-1)


def loss_in_pytorch(agent, seen, actions, old_log_probs, advantages, returns):
    logits, values = agent(seen)
    log_probs = logits.log_softmax(-1)
    taken = log_probs.gather(-1, actions[:, None]).squeeze(-1)
    ratio = (taken - old_log_probs).exp()
    clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
    gain = torch.minimum(ratio * advantages, clipped * advantages).mean()
    entropy = -(log_probs.exp() * log_probs).sum(-1).mean()
    return -gain + OF_VALUE * (values - returns).pow(2).mean() - OF_ENTROPY * entropy


def in_heed():
    g = heed.Graph()
    seen, actions = g.input("seen", [STEPS, SEEN]), g.input("actions", [STEPS], "i32")
    old_log_probs, advantages, returns = (g.input(name, [STEPS]) for name in ("old_log_probs", "advantages", "returns"))

    x = g.activation(heed.nn.linear(seen, "trunk", WIDTH), "tanh")
    logits, values = heed.nn.linear(x, "policy", ACTIONS), heed.nn.linear(x, "value", 1)[:, 0]
    log_probs = g.log_softmax(logits)
    taken = g.gather(log_probs, -1, actions[:, None])[:, 0]
    ratio = g.exp(taken - old_log_probs)
    clipped = g.clamp(ratio, 1 - CLIP, 1 + CLIP)
    gain = g.minimum(ratio * advantages, clipped * advantages).mean()
    entropy = -(g.exp(log_probs) * log_probs).sum(-1).mean()
    loss = -gain + OF_VALUE * ((values - returns) ** 2).mean() - OF_ENTROPY * entropy

    g.output("loss", loss)
    names = list(g.weights())
    for name, gradient in zip(names, heed.train.gradients(loss, [g.find_weight(name) for name in names])):
        g.output("gradient." + name, gradient)
    return g


def port():
    agent = ready(Agent())
    inputs = {"seen": torch.randn(STEPS, SEEN), "actions": torch.randint(ACTIONS, (STEPS,)),
              "advantages": torch.randn(STEPS), "returns": torch.randn(STEPS)}
    with torch.no_grad():  # of an older policy, so that some ratios are clipped
        taken = agent(inputs["seen"])[0].log_softmax(-1).gather(-1, inputs["actions"][:, None]).squeeze(-1)
        inputs["old_log_probs"] = taken + 0.3 * torch.randn(STEPS)
    loss = loss_in_pytorch(agent, **inputs)
    loss.backward()
    expected = {"loss": loss.reshape(1), **{"gradient." + name: p.grad for name, p in agent.named_parameters()}}
    return Port(in_heed(), agent.state_dict(), {**inputs, "actions": inputs["actions"].int()}, expected)


PORTS = {"ppo": port}
