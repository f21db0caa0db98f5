# tf_packaged_unit(VARIABLE PREFIX): the text of a unit of deploy/systemd, in VARIABLE, becomes that of an installed one.
# The programs are below PREFIX, and the units are called tunefarm-agent, tunefarm-tracker and tunefarm-tuner.
function(tf_packaged_unit variable prefix)
  if(prefix MATCHES "/_CPack_Packages/")
    set(prefix /usr)  # CPack collects files below a folder of its own before it packs them
  endif()
  set(text "${${variable}}")
  string(REPLACE "/usr/local/lib/tunefarm/README" "${prefix}/share/doc/tunefarm/SECURITY.md" text "${text}")
  string(REPLACE "/usr/local/lib/tunefarm/" "${prefix}/lib/tunefarm/bin/" text "${text}")
  string(REPLACE "After=network-online.target tracker.service" "After=network-online.target tunefarm-tracker.service" text "${text}")
  # The comment above the first section tells how to install the unit by hand.
  string(FIND "${text}" "[Unit]" start)
  string(SUBSTRING "${text}" ${start} -1 text)
  set(${variable} "# Examples of the configuration are in ${prefix}/share/doc/tunefarm/examples.\n${text}" PARENT_SCOPE)
endfunction()
