# Shows the frame time, heed's share of it, the budget, and the device.
extends PanelContainer

const ROWS: Array[String] = ["frame", "flock", "characters", "budget", "flock on", "characters on"]

var frame_ms := 0.0
var attention_ms := 0.0
var calls_ms := 0.0
var tokens_per_second := 0.0
var _values: Array[Label] = []
var _since := 0

func _ready() -> void:
	var box := StyleBoxFlat.new()
	box.bg_color = Color(0.04, 0.03, 0.07, 0.72)
	box.set_corner_radius_all(8)
	box.set_content_margin_all(10)
	add_theme_stylebox_override("panel", box)
	position = Vector2(14, 14)
	mouse_filter = Control.MOUSE_FILTER_IGNORE
	var grid := GridContainer.new()
	grid.columns = 2
	grid.mouse_filter = Control.MOUSE_FILTER_IGNORE
	grid.add_theme_constant_override("h_separation", 16)
	grid.add_theme_constant_override("v_separation", 0)
	add_child(grid)
	for row in ROWS:
		grid.add_child(_label(row, Color(0.66, 0.61, 0.74)))
		_values.append(_label("", Color(0.88, 0.84, 0.95)))
		grid.add_child(_values.back())

static func _label(text: String, color: Color) -> Label:
	var label := Label.new()
	label.text = text
	label.add_theme_font_size_override("font_size", 13)
	label.add_theme_color_override("font_color", color)
	return label

func tell(flock_device: HeedDevice, speech_device: HeedDevice, birds: int, budget: float, speaking: int) -> void:
	if Time.get_ticks_msec() < _since + 250:
		return
	_since = Time.get_ticks_msec()
	var told: Array[String] = [
		"%.1f ms  (%d per second)" % [frame_ms, roundi(1000.0 / maxf(frame_ms, 0.01))],
		"%d birds, attention %.2f ms, calls %.2f ms" % [birds, attention_ms, calls_ms],
		"%s, %.1f tokens/s" % ["%d speaking" % speaking if speaking > 0 else "silent", tokens_per_second],
		"%.1f ms of a frame" % budget if budget > 0.0 else "none",
		flock_device.describe(),
		speech_device.describe()]
	for i in told.size():
		_values[i].text = told[i]
	size = Vector2.ZERO
