import { subscriptionLimits } from '@millwright/api/event-subscriptions.ts'
import type { Input } from '../../../app/api/client.ts'
import { integerOf } from '../../../components/forms/integer.ts'
import { isPublisher, type Subscription } from '../subscription.ts'
import { selectionOf, type TypeSelection, typesOf } from './event-types.ts'
import { unknownPlaceholders } from './topic-preview.ts'

export type NewWebhook = Input<'events', 'createWebhook'>['body']['data']
export type NewPublisher = Input<'events', 'createMqttPublisher'>['body']['data']
export type SubscriptionChange = Input<'events', 'updateWebhook'>['body']['data'] &
  Input<'events', 'updateMqttPublisher'>['body']['data']

/** `SubscriptionForm` contains the fields of a webhook or an MQTT publisher as the user types them. */
export type SubscriptionForm = Record<
  | 'name'
  | 'url'
  | 'accessGroup'
  | 'filter'
  | 'certificateAuthority'
  | 'batchSize'
  | 'clientId'
  | 'userName'
  | 'password'
  | 'topic'
  | 'statusTopic',
  string
> & { types: TypeSelection; isActive: boolean; isPasswordRemoved: boolean; retain: boolean }

export const emptyForm: SubscriptionForm = {
  name: '',
  url: '',
  types: { isAll: false, groups: ['assets'], prefixes: '' },
  accessGroup: '',
  filter: '',
  certificateAuthority: '',
  batchSize: '1',
  clientId: '',
  userName: '',
  password: '',
  isPasswordRemoved: false,
  topic: 'millwright/{tenant}/{kind}/{id}',
  retain: false,
  statusTopic: '',
  isActive: true,
}

export function formOf(subscription: Subscription): SubscriptionForm {
  const { name, url, types, accessGroup, filter, certificateAuthority } = subscription
  const shared = {
    ...emptyForm,
    name,
    url,
    types: selectionOf(types),
    accessGroup: accessGroup ?? '',
    filter: filter ?? '',
    certificateAuthority: certificateAuthority ?? '',
  }
  if (!isPublisher(subscription)) return { ...shared, batchSize: String(subscription.batchSize) }
  const { clientId, userName, topic, retain, statusTopic } = subscription
  return { ...shared, clientId, userName: userName ?? '', topic, retain, statusTopic: statusTopic ?? '' }
}

/** `FormError` names what is wrong with a field. The texts of the form contain a message for each of them. */
type FormError =
  | 'required'
  | 'typesRequired'
  | 'invalidPrefix'
  | 'tooManyTypes'
  | 'invalidUrl'
  | 'invalidBroker'
  | 'invalidBatch'
  | 'unknownPlaceholder'
  | 'retainWithType'
type FieldErrors = Partial<Record<keyof SubscriptionForm, FormError>>

/** Returns the errors that the form finds before the request. The server checks all fields again. */
export function errorsOf(form: SubscriptionForm, kind: 'webhook' | 'mqtt'): FieldErrors {
  const errors: FieldErrors = {}
  const types = typesOf(form.types)
  if (types.length === 0) errors.types = 'typesRequired'
  else if (types.some((type) => !/^[a-z0-9_.-]+$/.test(type))) errors.types = 'invalidPrefix'
  else if (types.length > subscriptionLimits.types) errors.types = 'tooManyTypes'
  const url = form.url.trim()
  if (url === '') errors.url = 'required'
  else if (kind === 'webhook' && !/^https?:\/\/[^/]/i.test(url)) errors.url = 'invalidUrl'
  else if (kind === 'mqtt' && !/^mqtts?:\/\/[^/]/.test(url)) errors.url = 'invalidBroker'
  if (kind === 'webhook' && integerOf(form.batchSize, subscriptionLimits.batch) === undefined) {
    errors.batchSize = 'invalidBatch'
  }
  return kind === 'mqtt' ? { ...errors, ...topicErrors(form) } : errors
}

function topicErrors({ topic, statusTopic, retain }: SubscriptionForm): FieldErrors {
  const errors: FieldErrors = {}
  if (topic.trim() === '') errors.topic = 'required'
  else if (unknownPlaceholders(topic).length > 0) errors.topic = 'unknownPlaceholder'
  else if (retain && topic.includes('{type}')) errors.topic = 'retainWithType'
  if (unknownPlaceholders(statusTopic, { isStatus: true }).length > 0) errors.statusTopic = 'unknownPlaceholder'
  return errors
}

function orNull(text: string): string | null {
  return text.trim() === '' ? null : text.trim()
}

function sharedFields(form: SubscriptionForm) {
  return {
    url: form.url.trim(),
    types: typesOf(form.types),
    accessGroup: orNull(form.accessGroup),
    filter: orNull(form.filter),
    certificateAuthority: orNull(form.certificateAuthority),
    ...(form.name.trim() !== '' && { name: form.name.trim() }),
  }
}

function webhookFields(form: SubscriptionForm) {
  return { ...sharedFields(form), batchSize: integerOf(form.batchSize, subscriptionLimits.batch) ?? 1 }
}

function publisherFields(form: SubscriptionForm) {
  return {
    ...sharedFields(form),
    topic: form.topic.trim(),
    userName: orNull(form.userName),
    retain: form.retain,
    statusTopic: orNull(form.statusTopic),
    ...(form.clientId.trim() !== '' && { clientId: form.clientId.trim() }),
  }
}

/** Returns a new webhook. Without a name, the server uses the host of the URL. */
export function newWebhookOf(form: SubscriptionForm): NewWebhook {
  return { ...webhookFields(form), active: form.isActive }
}

/** Returns a new MQTT publisher. Without a client ID, the server creates one. */
export function newPublisherOf(form: SubscriptionForm): NewPublisher {
  return {
    ...publisherFields(form),
    active: form.isActive,
    ...(form.password !== '' && { password: form.password }),
  }
}

/** Returns the fields of the form that differ from the subscription. */
export function changesOf(form: SubscriptionForm, subscription: Subscription): SubscriptionChange {
  const fields = isPublisher(subscription) ? publisherFields(form) : webhookFields(form)
  const current: Readonly<Record<string, unknown>> = subscription
  const changed = Object.entries(fields).filter(([name, value]) => !isSame(value, current[name]))
  const changes: SubscriptionChange = Object.fromEntries(changed)
  if (isPublisher(subscription) && form.isPasswordRemoved) changes.password = null
  else if (isPublisher(subscription) && form.password !== '') changes.password = form.password
  return changes
}

/** Returns whether two values are equal. The order of a list does not matter. */
function isSame(one: unknown, other: unknown): boolean {
  if (!Array.isArray(one) || !Array.isArray(other)) return one === other
  return one.toSorted().join(' ') === other.toSorted().join(' ')
}

/** Returns whether a change makes the user the owner: a change of what is sent, or where. */
export function changesOwner(changes: SubscriptionChange): boolean {
  return Object.keys(changes).some((field) => field !== 'name' && field !== 'active')
}
