# Trails of the last seconds: short flat pieces that fade.
extends MultiMeshInstance3D

const EVERY := 0.12  # seconds between two pieces
const PIECES := 90   # of each
const WIDTH := 0.13
const SHADER := """
shader_type spatial;
render_mode unshaded, cull_disabled, shadows_disabled;
uniform float now = 0.0;
uniform float life;
varying vec4 made;  // color, and time
void vertex() { made = INSTANCE_CUSTOM; }
void fragment() {
	float age = clamp((now - made.a) / life, 0.0, 1.0);
	ALBEDO = made.rgb * 0.9;
	ALPHA = 0.75 * (1.0 - age) * (1.0 - age);
}
"""

var _colors := PackedColorArray()
var _last := PackedVector2Array()
var _next := 0
var _due := 0.0

func make(colors: PackedColorArray) -> void:
	_colors = colors
	var piece := PlaneMesh.new()
	piece.size = Vector2(1, 1)
	multimesh = MultiMesh.new()
	multimesh.transform_format = MultiMesh.TRANSFORM_3D
	multimesh.use_custom_data = true
	multimesh.mesh = piece
	multimesh.instance_count = colors.size() * PIECES
	multimesh.visible_instance_count = 0
	multimesh.custom_aabb = AABB(Vector3(-90, -1, -90), Vector3(180, 2, 180))
	var material := ShaderMaterial.new()
	material.shader = Shader.new()
	material.shader.code = SHADER
	material.set_shader_parameter("life", EVERY * PIECES)
	material_override = material
	cast_shadow = GeometryInstance3D.SHADOW_CASTING_SETTING_OFF

func follow(places: PackedVector2Array, time: float) -> void:
	material_override.set_shader_parameter("now", time)
	if time < _due:
		return
	_due = time + EVERY
	if _last.is_empty():
		_last = places.duplicate()
	for i in places.size():
		var way := places[i] - _last[i]
		var along := Vector3(way.x, 0, way.y)
		var middle := 0.5 * (places[i] + _last[i])
		var angle := Basis(Vector3.UP, atan2(along.x, along.z))
		var at := _next * places.size() + i
		multimesh.set_instance_transform(at, Transform3D(angle.scaled_local(Vector3(WIDTH, 1, along.length() * 1.03)), Vector3(middle.x, 0.02, middle.y)))
		multimesh.set_instance_custom_data(at, Color(_colors[i].srgb_to_linear(), time))
	_last = places.duplicate()
	multimesh.visible_instance_count = maxi(multimesh.visible_instance_count, (_next + 1) * places.size())
	_next = (_next + 1) % PIECES
