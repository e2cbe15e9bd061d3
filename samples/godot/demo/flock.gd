# Birds that steer by heed's attention. On a GPU, attention reads and writes buffers of Godot's RenderingDevice, a Godot compute shader
# moves the birds and writes the MultiMesh's buffer, and nothing returns to the CPU. Without a GPU, the same layer runs on arrays, with
# fewer birds.
extends MultiMeshInstance3D

const Rules := preload("res://demo/flock_rules.gd")
const BIRDS_ON_GPU := 320
const BIRDS_ON_CPU := 80
# Ridges and branches on which birds sit.
const PERCHES: Array[Vector3] = [
	Vector3(-7.0, 4.35, -4.3), Vector3(-4.4, 4.35, -4.9), Vector3(3.0, 5.65, -5.9), Vector3(6.2, 5.65, -5.3), Vector3(-2.2, 4.35, -9.1),
	Vector3(0.4, 4.35, -9.3), Vector3(-11.4, 4.7, -7.7), Vector3(-9.0, 4.7, -8.8), Vector3(0.6, 2.55, -0.6), Vector3(-5.9, 2.7, -2.2)]
const BIRD_SHADER := """
shader_type spatial;
render_mode unshaded, cull_disabled;
void vertex() {
	float flap = sin(TIME * (9.0 + 5.0 * INSTANCE_CUSTOM.x) + 40.0 * INSTANCE_CUSTOM.x);
	float wing = abs(VERTEX.x);
	VERTEX.y += wing * mix(0.15, 0.9 * flap, INSTANCE_CUSTOM.y);
	VERTEX.x *= mix(0.45, 1.0, INSTANCE_CUSTOM.y);
	COLOR.rgb = mix(vec3(0.03, 0.028, 0.05), vec3(0.20, 0.05, 0.05), INSTANCE_CUSTOM.z);
}
void fragment() { ALBEDO = COLOR.rgb; }
"""

var device: HeedDevice
var attention := HeedAttention.new()
var birds := 0
var calm := 0.0  # 1: the birds sit
var threat := Vector3(0, -100, 0)
var spent_usec := 0  # set by the flock's calls, on the render thread
var _rows := PackedFloat32Array()
var _buffers: Array[RID] = []
var _shader := RID()
var _pipeline := RID()
var _uniforms := RID()
var _time := 0.0

func _init(on: HeedDevice, count: int) -> void:
	device = on
	birds = count if count > 0 else BIRDS_ON_GPU if device.is_gpu() else BIRDS_ON_CPU

func _ready() -> void:
	multimesh = MultiMesh.new()
	multimesh.transform_format = MultiMesh.TRANSFORM_3D
	multimesh.use_custom_data = true
	multimesh.mesh = _bird()
	multimesh.instance_count = birds
	multimesh.custom_aabb = AABB(Vector3(-60, -5, -60), Vector3(120, 60, 120))
	var material := ShaderMaterial.new()
	material.shader = Shader.new()
	material.shader.code = BIRD_SHADER
	material_override = material
	cast_shadow = GeometryInstance3D.SHADOW_CASTING_SETTING_OFF
	_fill_rows()
	if Rules.open(attention, device, birds, PERCHES.size() + 1) != OK:
		set_process(false)
	elif device.is_gpu():
		RenderingServer.call_on_render_thread(_make_on_gpu)

func _bird() -> Mesh:
	var surface := SurfaceTool.new()
	surface.begin(Mesh.PRIMITIVE_TRIANGLES)
	var body := [Vector3(0, 0.02, 0.26), Vector3(0, 0.06, -0.22), Vector3(0.06, 0.08, 0), Vector3(-0.06, 0.08, 0)]
	for corner: Vector3 in [body[0], Vector3(0.42, 0, -0.07), Vector3(0, 0, -0.07), body[0], Vector3(0, 0, -0.07),
			Vector3(-0.42, 0, -0.07), body[0], body[2], body[1], body[0], body[1], body[3]]:
		surface.add_vertex(corner)
	return surface.commit()

func _fill_rows() -> void:
	var random := RandomNumberGenerator.new()
	random.seed = 7
	_rows.resize((birds + PERCHES.size() + 1) * Rules.ROW)
	for i in birds:
		var angle := random.randf() * TAU
		var radius := random.randf_range(2.0, 7.0)
		_set_row(i, Vector3(radius * cos(angle), random.randf_range(3.0, 8.0), -3.0 + radius * sin(angle)), Vector3(-sin(angle), 0, cos(angle)) * 3.0)
	for i in PERCHES.size():
		_set_row(birds + i, PERCHES[i], Vector3.ZERO)
		_rows[(birds + i) * Rules.ROW + Rules.PERCH] = 1.0
	_set_row(birds + PERCHES.size(), threat, Vector3.ZERO)
	_rows[(birds + PERCHES.size()) * Rules.ROW + Rules.THREAT] = 1.0

func _set_row(i: int, place: Vector3, velocity: Vector3) -> void:
	for c in 3:
		_rows[i * Rules.ROW + c] = place[c]
		_rows[i * Rules.ROW + Rules.VELOCITY + c] = velocity[c]
	_rows[i * Rules.ROW + Rules.SQUARE] = place.length_squared()

# --- On the GPU: all of this runs on the render thread.

func _make_on_gpu() -> void:
	var rendering := RenderingServer.get_rendering_device()
	var source := RDShaderSource.new()
	source.source_compute = FileAccess.get_file_as_string("res://demo/steer.glsl.txt")
	var spirv := rendering.shader_compile_spirv_from_source(source)
	if spirv.compile_error_compute != "":
		push_error(spirv.compile_error_compute)
		return
	var rows := device.create_buffer_from(_rows)
	var look := attention.make_buffer("y")
	attention.bind_buffer("x", rows)
	attention.bind_buffer("context", rows)
	_buffers = [rows, look]
	_shader = rendering.shader_create_from_spirv(spirv)
	_pipeline = rendering.compute_pipeline_create(_shader)
	var uniforms: Array[RDUniform] = []
	for buffer: RID in [rows, look, RenderingServer.multimesh_get_buffer_rd_rid(multimesh.get_rid())]:
		var uniform := RDUniform.new()
		uniform.uniform_type = RenderingDevice.UNIFORM_TYPE_STORAGE_BUFFER
		uniform.binding = uniforms.size()
		uniform.add_id(buffer)
		uniforms.append(uniform)
	_uniforms = rendering.uniform_set_create(uniforms, _shader, 0)

func _step_on_gpu(push: PackedFloat32Array, danger: Vector3) -> void:
	if not _uniforms.is_valid():
		return
	var begin := Time.get_ticks_usec()
	var rendering := RenderingServer.get_rendering_device()
	# heed reads the buffers as the previous frame left them, and its results are complete before this frame's shader runs.
	attention.compute(birds, birds + PERCHES.size() + 1)
	spent_usec += Time.get_ticks_usec() - begin
	var row := PackedFloat32Array([danger.x, danger.y, danger.z, danger.length_squared()])
	rendering.buffer_update(_buffers[0], (birds + PERCHES.size()) * Rules.ROW * 4, 16, row.to_byte_array())
	var list := rendering.compute_list_begin()
	rendering.compute_list_bind_compute_pipeline(list, _pipeline)
	rendering.compute_list_bind_uniform_set(list, _uniforms, 0)
	rendering.compute_list_set_push_constant(list, push.to_byte_array(), push.size() * 4)
	rendering.compute_list_dispatch(list, ceili(birds / 64.0), 1, 1)
	rendering.compute_list_end()

func _free_on_gpu(list: Array[RID]) -> void:
	for rid in list:
		if rid.is_valid():
			RenderingServer.get_rendering_device().free_rid(rid)

func _exit_tree() -> void:
	attention.close()
	if device.is_gpu():
		RenderingServer.call_on_render_thread(_free_on_gpu.bind([_uniforms, _pipeline, _shader] as Array[RID]))
		RenderingServer.call_on_render_thread(_free_on_gpu.bind(_buffers))

func _process(delta: float) -> void:
	var dt := clampf(delta, 0.0, 1.0 / 20.0)
	_time += dt
	if device.is_gpu():
		RenderingServer.call_on_render_thread(_step_on_gpu.bind(PackedFloat32Array([dt, _time, calm, birds]), threat))
	else:
		_step_on_cpu(dt)

# --- On the CPU: a shorter version of steer.glsl.txt.

func _step_on_cpu(dt: float) -> void:
	_set_row(birds + PERCHES.size(), threat, Vector3.ZERO)
	var begin := Time.get_ticks_usec()
	var look := attention.run(_rows.slice(0, birds * Rules.ROW), _rows)
	spent_usec += Time.get_ticks_usec() - begin
	if look.is_empty():
		return
	for i in birds:
		var place := _vector(_rows, i * Rules.ROW)
		var velocity := _vector(_rows, i * Rules.ROW + Rules.VELOCITY)
		var at := i * Rules.HEADS.size() * Rules.VALUE
		var away := place - _vector(look, at + 4 * Rules.VALUE)
		var fear := (1.0 - calm) * exp(-away.length_squared() / 60.0)
		var force := 0.9 * (_vector(look, at) - place) + 1.6 * (_vector(look, at + Rules.VALUE + 3) - velocity)
		force += 7.0 * (place - _vector(look, at + 2 * Rules.VALUE))
		var out := place - Vector3(0, 6.5, -3)
		force += 1.4 * Vector3(-out.z, 0.4 * sin(_time + i), out.x) / (1.0 + 0.15 * out.length()) - 0.03 * out.length() * out
		force *= 1.0 - 0.9 * calm
		force += 5.0 * calm * (place - _vector(look, at + 2 * Rules.VALUE))
		var own := Vector3(2.6 * (fposmod(i * 0.618, 1.0) - 0.5), 0.12, 0.25 * (fposmod(i * 0.755, 1.0) - 0.5))
		var to_place := _vector(look, at + 3 * Rules.VALUE) + own - place
		force += calm * (5.0 * to_place - 3.2 * velocity) + 40.0 * fear * (away + Vector3(0, 2, 0)).normalized()
		velocity += dt * force
		velocity = velocity.normalized() * clampf(velocity.length(), 2.2 * (1.0 - calm), lerpf(6.5, 3.5, calm) + 6.0 * fear)
		place += dt * velocity
		place.y = maxf(place.y, 0.4)
		_set_row(i, place, velocity)
		var sits := calm * exp(-to_place.length_squared() / 2.0)
		var forward := velocity.normalized() if sits < 0.6 else Vector3(sin(i), 0, cos(i))
		if forward.length_squared() > 0.5 and absf(forward.y) < 0.99:
			multimesh.set_instance_transform(i, Transform3D(Basis.looking_at(-forward), place))
		multimesh.set_instance_custom_data(i, Color(fposmod(i * 0.37, 1.0), 1.0 - sits, fear, 1.0))

static func _vector(from: PackedFloat32Array, at: int) -> Vector3:
	return Vector3(from[at], from[at + 1], from[at + 2])
