import { describedPattern, unprintable } from './envelope.ts'

/** The pattern of a node type: text without control characters. */
export const nodeTypePattern = describedPattern(
  `^[^${unprintable}]*$`,
  'must not contain line breaks or other control characters',
)

/** The pattern of the name of a property. */
export const propertyNamePattern = `^[^${unprintable}]{1,64}$`
