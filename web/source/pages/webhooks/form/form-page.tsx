import { subscriptionLimits } from '@millwright/api/event-subscriptions.ts'
import { iconInfo } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { isFailure } from '../../../app/api/failure.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi, useAppContext } from '../../../app/session/app-context.tsx'
import { Loading } from '../../../components/feedback/loading.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { CheckField, TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { PageHeader } from '../../../components/page/page-header.tsx'
import { usePageTitle } from '../../../components/page/page-title.ts'
import { ParentLink } from '../../../components/page/parent-link.tsx'
import { Icon } from '../../../components/values/icon.tsx'
import { SecretDialog } from '../detail/secret-dialog.tsx'
import { webhookMessages } from '../messages.ts'
import { isPublisher, pathOf, type Subscription, type SubscriptionKind } from '../subscription.ts'
import {
  type LoadedSubscription,
  operationsOf,
  useRefreshSubscriptions,
  useSubscription,
} from '../subscription-data.ts'
import { AuthorityField } from './authority-field.tsx'
import { formMessages } from './messages.ts'
import { SignInFields, TopicFields } from './mqtt-fields.tsx'
import { SelectionFields } from './selection-fields.tsx'
import {
  changesOf,
  changesOwner,
  emptyForm,
  errorsOf,
  formOf,
  newPublisherOf,
  newWebhookOf,
  type SubscriptionForm,
} from './subscription-form.ts'
import '../webhooks.css'

/** `NewWebhookPage` creates a webhook. */
export function NewWebhookPage() {
  return <NewPage kind="webhook" />
}

/** `NewPublisherPage` creates an MQTT publisher. */
export function NewPublisherPage() {
  return <NewPage kind="mqtt" />
}

/** `EditWebhookPage` changes a webhook. */
export function EditWebhookPage() {
  return <EditPage kind="webhook" />
}

/** `EditPublisherPage` changes an MQTT publisher. */
export function EditPublisherPage() {
  return <EditPage kind="mqtt" />
}

type CreatedSubscription = { id: string; secret?: string }

function NewPage({ kind }: { kind: SubscriptionKind }) {
  const text = useText(webhookMessages)
  const { create } = useText(formMessages)
  const api = useApi()
  const navigate = useNavigate()
  const refresh = useRefreshSubscriptions()
  const [form, setForm] = useState(emptyForm)
  const [created, setCreated] = useState<CreatedSubscription>()
  const title = kind === 'webhook' ? text.createWebhook : text.createPublisher
  usePageTitle(title)
  const open = (id: string) => navigate({ to: `${pathOf[kind]}/${id}`, replace: true })
  const submit = async () => {
    if (kind === 'webhook') {
      setCreated((await api.events.createWebhook({ body: { data: newWebhookOf(form) } })).data)
      await refresh()
    } else {
      const { data } = await api.events.createMqttPublisher({ body: { data: newPublisherOf(form) } })
      await refresh()
      await open(data.id)
    }
  }
  return (
    <>
      <PageHeader title={title} above={<AllLink kind={kind} />} />
      <SubscriptionFields kind={kind} form={form} onChange={setForm} action={create} onSubmit={submit} />
      {created?.secret !== undefined && <SecretDialog secret={created.secret} onClose={() => open(created.id)} />}
    </>
  )
}

function EditPage({ kind }: { kind: SubscriptionKind }) {
  const text = useText(formMessages)
  const { id = '' } = useParams({ strict: false })
  const loaded = useSubscription(kind, id)
  const [generation, setGeneration] = useState(0)
  const title = text.editTitle(loaded.data?.subscription.name ?? '')
  usePageTitle(title)
  const reload = async () => {
    await loaded.refetch()
    setGeneration(generation + 1)
  }
  return (
    <>
      <PageHeader title={title} above={<ParentLink to={`${pathOf[kind]}/${id}`}>{text.backToPage}</ParentLink>} />
      {/* The form starts with the current settings, and not with those that another page loaded earlier. */}
      {loaded.isFetchedAfterMount ? (
        <QueryState query={loaded}>
          {(data) => <EditForm key={generation} kind={kind} loaded={data} onReload={reload} />}
        </QueryState>
      ) : (
        <Loading />
      )}
    </>
  )
}

type EditFormProps = { kind: SubscriptionKind; loaded: LoadedSubscription; onReload: () => Promise<void> }

/** `EditForm` changes the subscription that was loaded first. Later changes by other users are not overwritten. */
function EditForm({ kind, loaded, onReload }: EditFormProps) {
  const text = useText(formMessages)
  const api = useApi()
  const { user } = useAppContext()
  const navigate = useNavigate()
  const refresh = useRefreshSubscriptions()
  const [{ subscription, etag }] = useState(loaded)
  const [form, setForm] = useState(() => formOf(subscription))
  const [hasConflict, setConflict] = useState(false)
  const changes = changesOf(form, subscription)
  const { id, owner } = subscription
  const save = async () => {
    try {
      if (Object.keys(changes).length > 0) {
        await operationsOf(api, kind).update({
          params: { id },
          headers: { 'if-match': etag },
          body: { data: changes },
        })
      }
    } catch (error) {
      setConflict(isFailure(error, 'precondition_failed'))
      throw error
    }
    showSuccess(text.saved)
    await refresh()
    await navigate({ to: `${pathOf[kind]}/${id}` })
  }
  return (
    <SubscriptionFields
      kind={kind}
      form={form}
      onChange={setForm}
      subscription={subscription}
      action={text.save}
      onSubmit={save}
      notice={changesOwner(changes) && owner.id !== user.sub ? text.ownerNotice(owner.name) : undefined}
      onReload={hasConflict ? onReload : undefined}
    />
  )
}

function AllLink({ kind }: { kind: SubscriptionKind }) {
  const text = useText(webhookMessages)
  return (
    <ParentLink to="/webhooks" search={kind === 'mqtt' ? { view: 'mqtt' } : {}}>
      {kind === 'webhook' ? text.webhooks : text.publishers}
    </ParentLink>
  )
}

type SubscriptionFieldsProps = {
  kind: SubscriptionKind
  form: SubscriptionForm
  onChange: (form: SubscriptionForm) => void
  /** The subscription that is changed. It is undefined for a new one. */
  subscription?: Subscription
  action: string
  onSubmit: () => Promise<void>
  /** A consequence of the change that the user must know. */
  notice?: string | undefined
  /** Loads the current settings after another request has changed them. */
  onReload?: (() => Promise<void>) | undefined
}

function SubscriptionFields({
  kind,
  form,
  onChange,
  subscription,
  action,
  onSubmit,
  ...props
}: SubscriptionFieldsProps) {
  const text = useText(formMessages)
  const formats = useFormats()
  const [isSubmitted, setSubmitted] = useState(false)
  const isWebhook = kind === 'webhook'
  const change = (changed: Partial<SubscriptionForm>) => onChange({ ...form, ...changed })
  const errors = errorsOf(form, kind)
  const errorOf = (field: keyof SubscriptionForm) => {
    const error = isSubmitted ? errors[field] : undefined
    return error === undefined ? undefined : text[error]
  }
  const submit = () => {
    setSubmitted(true)
    return Object.keys(errors).length > 0 ? false : onSubmit()
  }
  return (
    <div className="subscription-form">
      <Form
        action={action}
        onSubmit={submit}
        extraActions={
          props.onReload && (
            <IxButton variant="secondary" type="button" onClick={props.onReload}>
              {text.reload}
            </IxButton>
          )
        }
      >
        <fieldset className="group">
          <legend>{isWebhook ? text.receiver : text.broker}</legend>
          <TextField
            label={isWebhook ? text.url : text.brokerUrl}
            hint={isWebhook ? text.urlHint : text.brokerUrlHint}
            error={errorOf('url')}
            type="url"
            maxLength={2048}
            isRequired
            placeholder={isWebhook ? 'https://cmms.example.com/millwright' : 'mqtts://broker.example.com:8883'}
            value={form.url}
            onChange={(url) => change({ url })}
          />
          <TextField
            label={text.name}
            {...(subscription === undefined && { hint: text.nameHint })}
            maxLength={128}
            value={form.name}
            onChange={(name) => change({ name })}
          />
          {!isWebhook && (
            <SignInFields
              form={form}
              hasPassword={subscription !== undefined && isPublisher(subscription) && subscription.hasPassword}
              onChange={change}
            />
          )}
          <AuthorityField
            value={form.certificateAuthority}
            onChange={(certificateAuthority) => change({ certificateAuthority })}
          />
        </fieldset>
        {!isWebhook && (
          <TopicFields form={form} error={errorOf('topic')} statusError={errorOf('statusTopic')} onChange={change} />
        )}
        <SelectionFields form={form} typesError={errorOf('types')} onChange={change} />
        {isWebhook && (
          <fieldset className="group">
            <legend>{text.requests}</legend>
            <TextField
              label={text.batchSize}
              hint={text.batchHint(formats.number(subscriptionLimits.batch))}
              error={errorOf('batchSize')}
              type="number"
              isRequired
              value={form.batchSize}
              onChange={(batchSize) => change({ batchSize })}
            />
          </fieldset>
        )}
        {subscription === undefined && (
          <CheckField
            label={text.startActive}
            hint={text.startActiveHint}
            isChecked={form.isActive}
            onChange={(isActive) => change({ isActive })}
          />
        )}
        {subscription === undefined && <p className="field-hint">{text.ownerHint}</p>}
        {props.notice !== undefined && (
          <div className="notice" data-tone="warning" role="status">
            <Icon name={iconInfo} />
            <p>{props.notice}</p>
          </div>
        )}
      </Form>
    </div>
  )
}
