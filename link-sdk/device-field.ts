import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { DeviceIdentifierSchema, SemanticClassifierSchema } from '@millwright/api/proto/generated/identifiers_pb.js'
import { LinkError } from './link-error.ts'

/**
 * `Field` is a field of a schema class. The URI and the encoded classifier of a field are the same for every device.
 */
export type Field = { uri: string; classifier: Uint8Array; below: Map<string, Field> }

const tag = (field: { number: number }, type: WireType) => (field.number << 3) | type
const { field } = DeviceIdentifierSchema

export const tags = {
  /** The tag of an identifier inside a device or a container. */
  identifier: (1 << 3) | WireType.LengthDelimited,
  int64: tag(field.int64Value, WireType.Varint),
  uint64: tag(field.uint64Value, WireType.Varint),
  float64: tag(field.float64Value, WireType.Bit64),
  text: tag(field.text, WireType.LengthDelimited),
  raw: tag(field.rawData, WireType.LengthDelimited),
  children: tag(field.children, WireType.LengthDelimited),
} as const

const classes = new Map<string, Field>()
/**
 * The maximum number of cached fields. Without a limit, a link with many different field names would fill the memory.
 */
const remembered = 5_000
let known = 0

/** Returns the fields of a class. The address of the class ends with `#`. */
export function fieldsOfClass(address: string): Field {
  const before = classes.get(address)
  if (before !== undefined && known < remembered) return before
  if (known >= remembered) {
    classes.clear()
    known = 0
  }
  const made = fieldAt(address)
  classes.set(address, made)
  return made
}

export function fieldBelow(of: Field, name: string): Field {
  const before = of.below.get(name)
  if (before !== undefined) return before
  if (/[/[\]#%]/.test(name)) throw new LinkError('INTERNAL', `"${name}" is not a valid field name.`)
  const made = fieldAt(of.uri.endsWith('#') ? `${of.uri}${name}` : `${of.uri}/${name}`)
  of.below.set(name, made)
  return made
}

function fieldAt(uri: string): Field {
  known += 1
  const { type, value } = SemanticClassifierSchema.field
  const classifier = new BinaryWriter()
    .uint32(tag(field.classifiers, WireType.LengthDelimited))
    .fork()
    .uint32(tag(type, WireType.LengthDelimited))
    .string('URI')
    .uint32(tag(value, WireType.LengthDelimited))
    .string(uri)
    .join()
    .finish()
  return { uri, classifier, below: new Map() }
}
