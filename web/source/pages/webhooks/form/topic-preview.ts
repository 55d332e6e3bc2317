/** The placeholders of the topic of events, and of the status topic. */
const eventPlaceholders = ['tenant', 'type', 'kind', 'id']
const statusPlaceholders = ['tenant']

/** The event of the preview: a change of an asset. */
const sampleEvent = {
  type: 'io/millwright/inventory/asset/updated',
  kind: 'asset',
  id: '0198f0c2-7b1e-7c3a-9d55-0242ac120002',
}

/** Returns the placeholders in the template of a topic that do not exist, with their braces. */
export function unknownPlaceholders(template: string, { isStatus = false } = {}): string[] {
  const placeholders = isStatus ? statusPlaceholders : eventPlaceholders
  return [...template.matchAll(/\{([^{}]*)\}/g)].flatMap(([whole, name = '']) =>
    placeholders.includes(name) ? [] : [whole],
  )
}

/** Returns the topic on which the change of an asset is published. */
export function topicPreview(template: string, tenant: string): string {
  const values: Readonly<Record<string, string>> = { ...sampleEvent, tenant: encoded(tenant) }
  return template.trim().replace(/\{(tenant|type|kind|id)\}/g, (_, name: string) => values[name] ?? '')
}

/** Encodes the characters that have a meaning in topics, as the platform does. */
function encoded(value: string): string {
  return value.replace(/[/+#$%]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
}
