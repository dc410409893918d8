# Turns kernel sources into one C file, so that the library needs no data files and the build no other language:
# cmake -DFOLDER=cl -DNAMES=prelude.clh,conv2d.cl -DOUTPUT=FILE.c -P embed.cmake
string(REPLACE "," ";" names "${NAMES}")
set(table "")
set(texts "")
set(i 0)
foreach(name IN LISTS names)
  file(READ "${FOLDER}/${name}" text)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "?" "\\?" text "${text}") # no trigraphs
  string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
  string(APPEND texts "static const char text_${i}[] =\n    \"${text}\";\n")
  string(APPEND table "    {\"${name}\", text_${i}, sizeof text_${i} - 1},\n")
  math(EXPR i "${i} + 1")
endforeach()
file(WRITE "${OUTPUT}"
"/* Made by embed.cmake from the folder cl/. */
#include \"backend/cl/cl_sources.h\"

${texts}
const pcti_cl_source pcti_cl_sources[] = {
${table}};
const size_t pcti_cl_n_sources = ${i};
")
