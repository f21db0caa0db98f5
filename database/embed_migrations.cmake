# Run by the build: writes OUTPUT, a C++ table of the SQL files in FOLDER, in the order of their numbers.
file(GLOB files ${FOLDER}/[0-9][0-9][0-9][0-9]_*.sql)
list(SORT files)
set(rows "")
foreach(file ${files})
  get_filename_component(name ${file} NAME_WE)
  string(SUBSTRING ${name} 0 4 number)
  string(REGEX REPLACE "^0+" "" number ${number})
  file(READ ${file} sql)
  string(APPEND rows "    {${number}, \"${name}\", R\"sql(${sql})sql\"},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"database/sqlite/migrations.h\"

namespace tf::database {

const std::vector<Migration>& migrations() {
  static const std::vector<Migration> all = {
${rows}  };
  return all;
}

}  // namespace tf::database
")
