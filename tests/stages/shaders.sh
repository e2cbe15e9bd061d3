# Finds shaders that were changed without their SPIR-V, and SPIR-V that another compiler made.
about="the committed SPIR-V is what the pinned compiler makes of the sources"
needs="packages"
stage() { check "shaders/compile.sh --check" "$root/shaders/compile.sh" --check; }
