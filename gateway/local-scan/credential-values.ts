import { Errors } from 'typebox/schema'

/** `CredentialSchema` is a JSON Schema of the credentials of a link, with its URI. */
type CredentialSchema = { uri: string; schema: object }

type SchemaError = ReturnType<typeof Errors>[1][number]

/** The URI of the schema that the values match, or what is wrong with the values. */
type SchemaMatch = { uri: string } | { fault: string }

/**
 * Returns the schema that the values match. If the values match none of the schemas, the result describes the first
 * invalid field for the schema that has most of the fields. The description contains no values. Returns undefined if
 * there are no schemas.
 */
export function matchSchema(schemas: readonly CredentialSchema[], values: object): SchemaMatch | undefined {
  const results = schemas.map(({ uri, schema }) => {
    const { properties = {} } = schema as { properties?: object }
    const known = Object.keys(values).filter((key) => Object.hasOwn(properties, key)).length
    return { uri, known, errors: Errors(schema, values)[1] }
  })
  const match = results.find(({ errors }) => errors.length === 0)
  if (match !== undefined) return { uri: match.uri }
  const [closest] = results.toSorted((one, other) => other.known - one.known)
  return closest === undefined ? undefined : { fault: faultText(closest.errors) }
}

/** Returns the text for the first error. The error `boolean` belongs to an unknown field, which has a second error. */
function faultText(errors: readonly SchemaError[]): string {
  const error = errors.find(({ keyword }) => keyword !== 'boolean')
  if (error === undefined) return 'the values do not match the credential schema of the link'
  const field = `"${error.instancePath.slice(1)}"`
  switch (error.keyword) {
    case 'required':
      return `"${error.params.requiredProperties[0]}" is missing`
    case 'additionalProperties':
      return `"${error.params.additionalProperties[0]}" is not a field of these credentials`
    case 'enum':
      return `${field} must be one of ${error.params.allowedValues.join(', ')}`
    case 'type':
      return `${field} must be a ${error.params.type}`
    case 'minLength':
      return `${field} must have at least ${error.params.limit} characters`
    default:
      return `${field} ${error.message}`
  }
}
