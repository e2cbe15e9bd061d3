# What each head of the flock attends to, as weights of an attention layer by rules instead of training. A head's logit for a bird i and a
# row j is, apart from summands that are the same for all j,
#   -|x_i - x_j|^2 / (2 reach^2) + perch, if j is one, + threat, if j is one
# which is the dot product of a query and a key, both linear in rows. A head returns the mean of its keys' values.
extends RefCounted

# Columns of a row: position, |position|^2, velocity, 1 for a perch, 1 for a threat, and padding to 12.
const ROW := 12
const SQUARE := 3
const VELOCITY := 4
const PERCH := 7
const THREAT := 8
# Columns of a head's queries and keys: position, square, perch, threat, and two that are 0.
const KEY := 8
# Columns of a head's result: position, velocity, share of perches, share of threats.
const VALUE := 8
const NEVER := -60.0

# reach in metres; 0: distance has no effect.
const HEADS: Array[Dictionary] = [
	{name = "company", reach = 5.0, perch = NEVER, threat = NEVER},
	{name = "heading", reach = 2.0, perch = NEVER, threat = NEVER},
	{name = "elbow room", reach = 0.7, perch = NEVER, threat = NEVER},
	{name = "a perch", reach = 2.5, perch = 30.0, threat = NEVER},
	{name = "danger", reach = 0.0, perch = NEVER, threat = 30.0},
]

static func zeros(count: int) -> PackedFloat32Array:
	var weight := PackedFloat32Array()
	weight.resize(count)
	return weight

# Opens the layer: x has `birds` rows, context has as many and then `others`.
static func open(attention: HeedAttention, device: HeedDevice, birds: int, others: int) -> Error:
	attention.width = ROW
	attention.context_width = ROW
	attention.heads = HEADS.size()
	attention.key_width = KEY
	attention.value_width = VALUE
	attention.fused = false
	attention.out_projection = false
	attention.scale = 1.0
	attention.max_queries = birds
	attention.max_keys = birds + others
	var q := zeros(HEADS.size() * KEY * ROW)
	var k := zeros(HEADS.size() * KEY * ROW)
	var v := zeros(HEADS.size() * VALUE * ROW)
	var q_bias := zeros(HEADS.size() * KEY)
	for h in HEADS.size():
		var head := HEADS[h]
		var at := h * KEY
		if head.reach > 0.0:
			for c in 3:
				q[(at + c) * ROW + c] = 1.0 / head.reach
				k[(at + c) * ROW + c] = 1.0 / head.reach
			q_bias[at + 3] = 1.0
			k[(at + 3) * ROW + SQUARE] = -0.5 / (head.reach * head.reach)
		q_bias[at + 4] = 1.0
		k[(at + 4) * ROW + PERCH] = head.perch
		q_bias[at + 5] = 1.0
		k[(at + 5) * ROW + THREAT] = head.threat
		for c in 3:
			v[(h * VALUE + c) * ROW + c] = 1.0
			v[(h * VALUE + 3 + c) * ROW + VELOCITY + c] = 1.0
		v[(h * VALUE + 6) * ROW + PERCH] = 1.0
		v[(h * VALUE + 7) * ROW + THREAT] = 1.0
	attention.set_weight("q.weight", q)
	attention.set_weight("q.bias", q_bias)
	attention.set_weight("k.weight", k)
	attention.set_weight("k.bias", zeros(HEADS.size() * KEY))
	attention.set_weight("v.weight", v)
	attention.set_weight("v.bias", zeros(HEADS.size() * VALUE))
	return attention.open_by_rule(device, 0)
