# cmake -DOUTPUT=file.c -DFOLDER=kernels -P embed.cmake: every .cu, .cuh and .h of a folder as zero-terminated bytes.
file(GLOB sources ${FOLDER}/*.cu ${FOLDER}/*.cuh ${FOLDER}/*.h)
list(SORT sources)
set(arrays "")
set(rows "")
set(index 0)
foreach(source IN LISTS sources)
  get_filename_component(name ${source} NAME)
  file(READ ${source} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "(....,....,....,....,....,....,....,....,....,....,....,....,....,....,....,....,)" "\\1\n" bytes
    "${bytes}")
  string(APPEND arrays "static const char text_${index}[] = {\n${bytes}0x00};\n")
  string(APPEND rows "    {\"${name}\", text_${index}},\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUTPUT} "/* Made by cmake/embed.cmake from src/engine/cuda/kernels. */\n#include \"engine/cuda/sources.h\"\n\n"
  "${arrays}\nconst ant_embedded_source ant_embedded_sources[] = {\n${rows}    {NULL, NULL},\n};\n")
