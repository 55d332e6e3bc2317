const placeholders = ['tenant', 'type', 'kind', 'id']

/** The event of the preview: a change of an asset. */
const sampleEvent = {
  type: 'io/millwright/inventory/asset/updated',
  kind: 'asset',
  id: '0198f0c2-7b1e-7c3a-9d55-0242ac120002',
}

/** Returns the placeholders in a topic template that do not exist, with their braces. */
export function unknownPlaceholders(template: string): string[] {
  return [...template.matchAll(/\{([^{}]*)\}/g)].flatMap(([whole, name = '']) =>
    placeholders.includes(name) ? [] : [whole],
  )
}

/** Returns the topic on which the change of an asset is published. */
export function topicPreview(template: string, tenant: string): string {
  const values: Readonly<Record<string, string>> = { ...sampleEvent, tenant }
  return template.trim().replace(/\{(tenant|type|kind|id)\}/g, (_, name: string) => values[name] ?? '')
}
