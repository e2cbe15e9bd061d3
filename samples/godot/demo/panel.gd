# Frame time, heed's share of it, the budget, and where is computed.
extends PanelContainer

var frame_ms := 0.0
var attention_ms := 0.0
var calls_ms := 0.0
var tokens_per_second := 0.0
var _text := Label.new()
var _since := 0

func _ready() -> void:
	var box := StyleBoxFlat.new()
	box.bg_color = Color(0.04, 0.03, 0.07, 0.72)
	box.set_corner_radius_all(8)
	box.set_content_margin_all(10)
	add_theme_stylebox_override("panel", box)
	position = Vector2(14, 14)
	mouse_filter = Control.MOUSE_FILTER_IGNORE
	_text.add_theme_font_size_override("font_size", 13)
	_text.add_theme_color_override("font_color", Color(0.88, 0.84, 0.95))
	add_child(_text)

func tell(flock_device: HeedDevice, speech_device: HeedDevice, birds: int, budget: float, speaking: int) -> void:
	if Time.get_ticks_msec() < _since + 250:
		return
	_since = Time.get_ticks_msec()
	_text.text = "\n".join([
		"frame            %.1f ms  (%d per second)" % [frame_ms, roundi(1000.0 / maxf(frame_ms, 0.01))],
		"flock            %d birds, attention %.2f ms, calls %.2f ms" % [birds, attention_ms, calls_ms],
		"characters       %s, %.1f tokens/s" % ["%d speaking" % speaking if speaking > 0 else "silent", tokens_per_second],
		"budget           " + ("%.1f ms of a frame" % budget if budget > 0.0 else "none"),
		"flock on         " + flock_device.describe(),
		"characters on    " + speech_device.describe()])
	size = Vector2.ZERO
