import type { CloudEvent } from '@millwright/api/events.ts'

/**
 * Topics of MQTT publishers. A template contains placeholders in braces. `{type}` is the event type with slashes instead
 * of dots. `{kind}` and `{id}` are the two parts of the subject of the event. Values are encoded like parts of a URL, so a
 * value never adds a level to the topic and never contains a wildcard.
 */

const eventPlaceholders = ['tenant', 'type', 'kind', 'id'] as const
const statusPlaceholders = ['tenant'] as const

type Topics = { topic: string; statusTopic: string | null; retain: boolean }

export type TopicError = { field: 'topic' | 'statusTopic'; detail: string }

/** Returns why one of the templates is not valid, or undefined if both are valid. */
export function findTopicError({ topic, statusTopic, retain }: Topics): TopicError | undefined {
  const error = templateError(topic, eventPlaceholders)
  if (error !== undefined) return { field: 'topic', detail: error }
  if (retain && topic.includes('{type}')) {
    const detail =
      'The topic cannot contain {type} together with retain: the deletion of an object removes its retained event from one topic. Remove {type}, or set retain to false'
    return { field: 'topic', detail }
  }
  if (statusTopic === null) return undefined
  const detail = templateError(statusTopic, statusPlaceholders)
  if (detail !== undefined) return { field: 'statusTopic', detail }
  if (statusTopic !== topic) return undefined
  return { field: 'statusTopic', detail: 'The status topic must differ from the topic of the events' }
}

function templateError(template: string, placeholders: readonly string[]): string | undefined {
  const names = placeholders.map((name) => `{${name}}`)
  const rest = names.reduce((text, name) => text.replaceAll(name, ''), template)
  const [unknown] = /\{[^{}]*\}|[{}]/.exec(rest) ?? []
  if (unknown !== undefined) return `${unknown} is not a placeholder. Use ${names.join(', ')}`
  if (!template.isWellFormed()) return 'The topic contains invalid Unicode characters'
  if (/[+#]|^\$|\p{Cc}/u.test(template))
    return 'The topic must not contain +, # or control characters, and must not start with $'
  return undefined
}

/** Returns the topic of an event. */
export function topicOf(template: string, tenantName: string, { type, subject }: CloudEvent): string {
  const slash = subject.indexOf('/')
  const kind = slash === -1 ? subject : subject.slice(0, slash)
  const id = slash === -1 ? '' : subject.slice(slash + 1)
  const types = type.split('.').map(encoded).join('/')
  const values = { tenant: encoded(tenantName), type: types, kind: encoded(kind), id: encoded(id) }
  return template.replace(/\{(tenant|type|kind|id)\}/g, (_, name: keyof typeof values) => values[name])
}

export function statusTopicOf(template: string, tenantName: string): string {
  return template.replaceAll('{tenant}', () => encoded(tenantName))
}

/** Returns whether each object has its own topic. */
export function isTopicPerObject(template: string): boolean {
  return template.includes('{id}')
}

/** Encodes the characters that have a meaning in topics, and the percent sign, so that different values stay different. */
function encoded(value: string): string {
  return value.toWellFormed().replace(/[/+#$%]|\p{Cc}/gu, (character) => {
    const hex = [...Buffer.from(character)].map((byte) => byte.toString(16).toUpperCase().padStart(2, '0'))
    return `%${hex.join('%')}`
  })
}
