"""Shows expressions, statements, buffers and functions in gdb as their IR text.

Use: gdb -iex 'source deploy/gdb/tunefarm.py' PROGRAM, then `print expr`, `print stmt`, `info locals` as usual.
The text comes from the program's own printer (tf_debug_* in compiler/ir/print.cpp), called in the stopped program: a
live process is needed, not a core file. Variables need full debug information, which the dev preset leaves out for
speed: cmake --preset dev -DCMAKE_CXX_FLAGS_DEBUG="-O0 -g".
"""

import re

import gdb

REF = re.compile(r"^(?:const )?tf::Ref<(?:const )?tf::(tensor|ir)::(\w+)>$")
EXPRS = {"ExprNode", "IntImm", "FloatImm", "VarNode", "Unary", "Binary", "Select", "Cast", "Call", "Load", "Ramp",
         "Broadcast"}


def text_of(function, address):
    try:
        return gdb.parse_and_eval(f"((const char*(*)(unsigned long))&{function})({address})").string().rstrip("\n")
    except gdb.error as error:
        return f"<{error}>"


def debug_function(value):
    """The program's printing function for a value's type and the address to give it, or None."""
    name = str(value.type.strip_typedefs().unqualified())
    if name == "tf::ir::Function":
        return ("tf_debug_function", value.address) if value.address else None
    match = REF.match(name)
    if not match:
        return None
    node = value["node_"]
    kind = match.group(2)
    if kind == "BufferNode":
        return "tf_debug_buffer", node
    return ("tf_debug_expr" if kind in EXPRS else "tf_debug_stmt"), node


class Printer:
    def __init__(self, function, address):
        self.function = function
        self.address = int(address)

    def to_string(self):
        if self.address == 0:
            return "null"
        text = text_of(self.function, self.address)
        return "\n" + text if "\n" in text else text


def lookup(value):
    found = debug_function(value)
    return Printer(*found) if found else None


gdb.pretty_printers.append(lookup)
