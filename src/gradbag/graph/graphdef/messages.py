"""TensorFlow's messages of a graph file, as far as a graph needs them.

They live in a descriptor pool of their own, so TensorFlow may be imported before or after in the same process. The
numbers of the fields are TensorFlow's. A map is described as the repeated entry that it is on the wire: so a key that
stands twice is seen, and entries are written in the order in which they were added.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, NamedTuple

PACKAGE = "tensorflow"

# Name of a dtype -> number and name in TensorFlow's enum DataType.
DATA_TYPES = {
    "float32": (1, "DT_FLOAT"),
    "float64": (2, "DT_DOUBLE"),
    "int32": (3, "DT_INT32"),
    "uint8": (4, "DT_UINT8"),
    "int16": (5, "DT_INT16"),
    "int8": (6, "DT_INT8"),
    "string": (7, "DT_STRING"),
    "complex64": (8, "DT_COMPLEX64"),
    "int64": (9, "DT_INT64"),
    "bool": (10, "DT_BOOL"),
    "qint8": (11, "DT_QINT8"),
    "quint8": (12, "DT_QUINT8"),
    "qint32": (13, "DT_QINT32"),
    "bfloat16": (14, "DT_BFLOAT16"),
    "uint16": (17, "DT_UINT16"),
    "complex128": (18, "DT_COMPLEX128"),
    "float16": (19, "DT_HALF"),
    "uint32": (22, "DT_UINT32"),
    "uint64": (23, "DT_UINT64"),
}
# Those that no op takes must still be readable in a text file, to be refused by name.
FOREIGN_TYPES = {
    0: "DT_INVALID",
    15: "DT_QINT16",
    16: "DT_QUINT16",
    20: "DT_RESOURCE",
    21: "DT_VARIANT",
    24: "DT_FLOAT8_E5M2",
    25: "DT_FLOAT8_E4M3FN",
    29: "DT_INT4",
    30: "DT_UINT4",
}
NUMBERS = {name: number for name, (number, _) in DATA_TYPES.items()}
NAMES = {number: name for name, number in NUMBERS.items()}

# One line per field: number, name, type; a star for a repeated one. After |, the fields of the oneof `value`.
_MESSAGES = {
    "GraphDef": "1 node *NodeDef, 2 library FunctionDefLibrary, 3 version int32, 4 versions VersionDef",
    "VersionDef": "1 producer int32, 2 min_consumer int32, 3 bad_consumers *int32",
    "NodeDef": "1 name string, 2 op string, 3 input *string, 4 device string, 5 attr *AttrEntry",
    "AttrEntry": "1 key string, 2 value AttrValue",
    "AttrValue": "| 1 list ListValue, 2 s bytes, 3 i int64, 4 f float, 5 b bool, 6 type DataType, "
    "7 shape TensorShapeProto, 8 tensor TensorProto, 9 placeholder string, 10 func NameAttrList",
    "ListValue": "2 s *bytes, 3 i *int64, 4 f *float, 5 b *bool, 6 type *DataType, 7 shape *TensorShapeProto, "
    "8 tensor *TensorProto, 9 func *NameAttrList",
    "NameAttrList": "1 name string, 2 attr *AttrEntry",
    "TensorShapeProto": "2 dim *Dim, 3 unknown_rank bool",
    "Dim": "1 size int64, 2 name string",
    "TensorProto": "1 dtype DataType, 2 tensor_shape TensorShapeProto, 3 version_number int32, "
    "4 tensor_content bytes, 5 float_val *float, 6 double_val *double, 7 int_val *int32, 8 string_val *bytes, "
    "9 scomplex_val *float, 10 int64_val *int64, 11 bool_val *bool, 12 dcomplex_val *double, 13 half_val *int32, "
    "16 uint32_val *uint32, 17 uint64_val *uint64",
    "FunctionDefLibrary": "1 function *FunctionDef",
    "FunctionDef": "1 signature OpDef, 3 node_def *NodeDef, 4 ret *TextEntry, 5 attr *AttrEntry, "
    "6 control_ret *TextEntry",
    "TextEntry": "1 key string, 2 value string",
    "OpDef": "1 name string, 2 input_arg *ArgDef, 3 output_arg *ArgDef, 4 attr *AttrDef, 17 is_stateful bool, "
    "20 control_output *string",
    "ArgDef": "1 name string, 3 type DataType, 4 type_attr string, 5 number_attr string, 6 type_list_attr string",
    "AttrDef": "1 name string, 2 type string, 3 default_value AttrValue",
    "SavedModel": "1 saved_model_schema_version int64, 2 meta_graphs *MetaGraphDef",
    "MetaGraphDef": "1 meta_info_def MetaInfoDef, 2 graph_def GraphDef, 4 collection_def *CollectionEntry, "
    "5 signature_def *SignatureEntry, 6 asset_file_def *AssetFileDef",
    "MetaInfoDef": "4 tags *string",
    "CollectionEntry": "1 key string, 2 value CollectionDef",
    "CollectionDef": "1 node_list NodeList",
    "NodeList": "1 value *string",
    "SignatureEntry": "1 key string, 2 value SignatureDef",
    "SignatureDef": "1 inputs *TensorInfoEntry, 2 outputs *TensorInfoEntry, 3 method_name string",
    "TensorInfoEntry": "1 key string, 2 value TensorInfo",
    "TensorInfo": "1 name string, 2 dtype DataType, 3 tensor_shape TensorShapeProto",
    "AssetFileDef": "1 tensor_info TensorInfo, 2 filename string",
    "BundleHeaderProto": "1 num_shards int32, 2 endianness int32, 3 version VersionDef",
    "BundleEntryProto": "1 dtype DataType, 2 shape TensorShapeProto, 3 shard_id int32, 4 offset int64, 5 size int64, "
    "6 crc32c fixed32, 7 slices *bytes",
}


class Field(NamedTuple):
    """A field of a message."""

    number: int
    name: str
    kind: str  # a message, DataType, or a type of protobuf's
    many: bool


def _fields(text: str) -> list[Field]:
    lines = [line.split(" ") for line in text.removeprefix("| ").split(", ")]
    return [Field(int(number), name, kind.removeprefix("*"), kind.startswith("*")) for number, name, kind in lines]


FIELDS = {message: _fields(text) for message, text in _MESSAGES.items()}


def _described() -> Any:
    """The file of the messages, as protobuf describes files to itself."""
    from google.protobuf import descriptor_pb2

    file = descriptor_pb2.FileDescriptorProto(name="gradbag/graphdef.proto", package=PACKAGE, syntax="proto3")
    types = file.enum_type.add(name="DataType")
    for number, name in sorted([*DATA_TYPES.values(), *FOREIGN_TYPES.items()]):
        types.value.add(name=name, number=number)
    kinds = descriptor_pb2.FieldDescriptorProto
    for message, fields in FIELDS.items():
        made = file.message_type.add(name=message)
        one_of = _MESSAGES[message].startswith("| ")
        if one_of:
            made.oneof_decl.add(name="value")
        for number, name, kind, many in fields:
            label = kinds.LABEL_REPEATED if many else kinds.LABEL_OPTIONAL
            field = made.field.add(name=name, number=number, label=label)
            if kind in FIELDS or kind == "DataType":
                field.type = kinds.TYPE_MESSAGE if kind in FIELDS else kinds.TYPE_ENUM
                field.type_name = f".{PACKAGE}.{kind}"
            else:
                field.type = getattr(kinds, f"TYPE_{kind.upper()}")
            if one_of:
                field.oneof_index = 0
    return file


@functools.cache
def message(name: str) -> Any:
    """The class of a message."""
    found = _pool().FindMessageTypeByName(f"{PACKAGE}.{name}")
    from google.protobuf import message_factory

    return message_factory.GetMessageClass(found)


@functools.cache
def _pool() -> Any:
    try:
        from google.protobuf import descriptor_pool
        from google.protobuf.internal import api_implementation
    except ImportError as problem:
        raise ModuleNotFoundError(
            "GraphDef files need the package protobuf: pip install 'gradbag[graphdef]'", name="google.protobuf"
        ) from problem
    if api_implementation.Type() == "python":
        # It reads nested messages by recursion without a limit, so a small file could exhaust the stack.
        raise ImportError(
            "GraphDef files need protobuf's compiled implementation; this process runs the one in pure Python "
            "(is PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION set?)"
        )
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(_described().SerializeToString())
    return pool


def type_names(numbers: Iterable[int]) -> list[str]:
    """Names of dtypes for a message: gradbag's, or TensorFlow's where gradbag has none."""
    return [NAMES.get(n) or FOREIGN_TYPES.get(n, f"number {n}") for n in numbers]
