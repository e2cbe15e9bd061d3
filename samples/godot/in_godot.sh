# shellcheck shell=bash disable=SC2154
# Runs Godot in a root that get_godot.sh made, on a copy of the project in its folder /project. Sourced with $folder, the root, and $out,
# a folder in it.

# copy_project PROJECT LIBRARY
copy_project() {
  local project=$folder/project
  rm -rf "$project"
  mkdir -p "$project/addons/heed/bin" "$project/.godot" "$folder/personas" "$out"
  cp "$1/project.godot" "$project/"
  cp -r "$1/tests" "$1/demo" "$project/"
  cp "$1"/addons/heed/*.gd* "$project/addons/heed/"
  cp "$2" "$project/addons/heed/bin/libheed_godot.so"
  cp "$1"/../talk/personas/*.txt "$folder/personas/"
  # The root may lack Highway, utf8proc, zlib and libsamplerate, which the library may link, so that they are copied beside it.
  ldd "$2" | awk '$1 ~ /^lib(hwy|utf8proc|samplerate|z\.)/ { print $3 }' | while read -r needed; do cp -L "$needed" "$project/addons/heed/bin/"; done
  echo 'res://addons/heed/heed.gdextension' >"$project/.godot/extension_list.cfg"
  # Without this heuristic the layer ignores shaders' reads and writes.
  cat >"$out/vk_layer_settings.txt" <<SETTINGS
khronos_validation.validate_sync = true
khronos_validation.syncval_shader_accesses_heuristic = true
khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG
khronos_validation.log_filename = /out/validation.txt
khronos_validation.report_flags = error,warn
SETTINGS
}

# run_godot SECONDS ARGUMENTS...: with $headless 1 without a display, else under Xvfb; with $validation 1 Khronos' layer writes to
# $out/validation.txt. $variables: NAME=VALUE for Godot, separated by spaces.
run_godot() {
  local seconds=$1 prefix="${variables:-} "
  shift
  [[ ${validation:-0} -eq 0 ]] ||
    prefix+='VK_LAYER_SETTINGS_PATH=/out/vk_layer_settings.txt VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation '
  if [[ ${headless:-0} -eq 1 ]]; then
    set -- --headless "$@"
  else
    prefix+='xvfb-run -a -s "-screen 0 1280x800x24" '
  fi
  # xvfb-run never returns as the first process of a root, and a root ends with its first process.
  timeout --signal KILL "$seconds" "$(dirname "${BASH_SOURCE[0]}")/../../tests/drivers/in_root.sh" "$folder" \
    sh -c "$prefix"'godot "$@"; exit $?' sh --path /project --audio-driver Dummy "$@" </dev/null
}
