import { monitoringLimits } from '@millwright/api/monitoring.ts'
import { iconInfo } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { isFailure } from '../../../app/api/failure.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi, useAppContext } from '../../../app/session/app-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { TextAreaField, TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { Icon } from '../../../components/values/icon.tsx'
import { ScheduleFields } from '../../discovery/scans/schedule-fields.tsx'
import { monitoringMessages } from '../messages.ts'
import { type LoadedMonitoring, useRefreshMonitorings } from '../monitoring-data.ts'
import { CredentialFields } from './credential-fields.tsx'
import { LinkFields } from './link-fields.tsx'
import { formMessages } from './messages.ts'
import {
  changesOf,
  changesOwner,
  emptyForm,
  errorsOf,
  formOf,
  type MonitoringForm,
  newMonitoringOf,
} from './monitoring-form.ts'
import { useTargetCount } from './target-count.tsx'
import { TargetFields } from './target-fields.tsx'
import '../monitoring.css'

type NewMonitoringDialogProps = {
  /** The first values of the form. */
  preset?: MonitoringForm
  onClose: () => unknown
}

/** `NewMonitoringDialog` creates a monitoring, and opens its page. */
export function NewMonitoringDialog({ preset, onClose }: NewMonitoringDialogProps) {
  const { create } = useText(monitoringMessages)
  const text = useText(formMessages)
  const api = useApi()
  const navigate = useNavigate()
  const refresh = useRefreshMonitorings()
  const [form, setForm] = useState(() => preset ?? emptyForm())
  const isOnce = form.schedule.kind === 'now'
  const submit = async () => {
    const { data } = await api.monitoring.createMonitoring({ body: { data: newMonitoringOf(form) } })
    showSuccess(isOnce ? text.started : text.created)
    await refresh()
    // The dialog is closed before the page opens, so that the back button does not reopen it.
    await onClose()
    navigate({ to: `/monitoring/${data.id}` })
  }
  return (
    <Dialog title={create} onClose={onClose} isWide>
      <MonitoringFields
        form={form}
        onChange={setForm}
        action={isOnce ? text.start : text.plan}
        onSubmit={submit}
        onCancel={onClose}
        nowLabel={text.once}
        notice={text.ownerHint}
      />
    </Dialog>
  )
}

type EditMonitoringDialogProps = { loaded: LoadedMonitoring; onReload: () => Promise<unknown>; onClose: () => void }

/** `EditMonitoringDialog` changes the monitoring that was loaded first. Later changes are not overwritten. */
export function EditMonitoringDialog({ loaded, onReload, onClose }: EditMonitoringDialogProps) {
  const text = useText(formMessages)
  const { manual } = useText(monitoringMessages)
  const api = useApi()
  const { user } = useAppContext()
  const refresh = useRefreshMonitorings()
  const [{ monitoring, etag }] = useState(loaded)
  const [form, setForm] = useState(() => formOf(monitoring))
  const [hasConflict, setConflict] = useState(false)
  const changes = changesOf(form, monitoring)
  const { id, name, owner } = monitoring
  const save = async () => {
    try {
      if (Object.keys(changes).length > 0) {
        await api.monitoring.updateMonitoring({
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
    onClose()
  }
  return (
    <Dialog title={text.editTitle(name)} onClose={onClose} isWide>
      <MonitoringFields
        form={form}
        onChange={setForm}
        action={text.save}
        onSubmit={save}
        onCancel={onClose}
        nowLabel={manual}
        notice={changesOwner(changes) && owner.id !== user.sub ? text.ownerNotice(owner.name) : undefined}
        onReload={hasConflict ? onReload : undefined}
      />
    </Dialog>
  )
}

type MonitoringFieldsProps = {
  form: MonitoringForm
  onChange: (form: MonitoringForm) => void
  action: string
  onSubmit: () => Promise<unknown>
  onCancel: () => unknown
  /** The name of the choice without a schedule. */
  nowLabel: string
  /** A consequence that the user must know. */
  notice: string | undefined
  /** Loads the current settings after another request has changed them. */
  onReload?: (() => Promise<unknown>) | undefined
}

function MonitoringFields({ form, onChange, action, onSubmit, onCancel, ...props }: MonitoringFieldsProps) {
  const { nowLabel, notice, onReload } = props
  const text = useText(formMessages)
  const formats = useFormats()
  const [isSubmitted, setSubmitted] = useState(false)
  const change = (changed: Partial<MonitoringForm>) => onChange({ ...form, ...changed })
  const errors = errorsOf(form)
  const isByFilter = form.targetKind === 'filter'
  const counts = useTargetCount({ filter: isByFilter ? form.filter : '', links: form.isAllLinks ? [] : form.links })
  const devices = isByFilter ? counts.data?.data.checkable : form.assetIds.length
  const keyLimit = formats.number(monitoringLimits.keys)
  const submit = () => {
    setSubmitted(true)
    return Object.keys(errors).length > 0 ? false : onSubmit()
  }
  return (
    <Form
      action={action}
      onSubmit={submit}
      onCancel={onCancel}
      extraActions={
        onReload && (
          <IxButton variant="secondary" type="button" onClick={onReload}>
            {text.reload}
          </IxButton>
        )
      }
    >
      <TextField
        label={text.name}
        error={isSubmitted && errors.name !== undefined ? text.required : undefined}
        isRequired
        maxLength={128}
        value={form.name}
        onChange={(name) => change({ name })}
      />
      <TargetFields form={form} isInvalid={isSubmitted && errors.filter !== undefined} onChange={change} />
      <ScheduleFields
        schedule={form.schedule}
        onChange={(schedule) => change({ schedule })}
        zone={form.zone}
        isSubmitted={isSubmitted}
        isFrequent
        nowLabel={nowLabel}
        intervalHint={
          devices === undefined
            ? undefined
            : text.perMinute(formats.number(devices), formats.number(Math.ceil(devices / form.schedule.minutes)))
        }
      />
      <CredentialFields form={form} onChange={change} />
      <LinkFields form={form} isInvalid={isSubmitted && errors.links !== undefined} onChange={change} />
      <TextAreaField
        label={text.properties}
        hint={text.propertiesHint(keyLimit)}
        error={isSubmitted ? keysError(errors.keys, text, keyLimit) : undefined}
        rows={2}
        isCode
        value={form.keys}
        onChange={(keys) => change({ keys })}
      />
      {notice !== undefined && (
        <div className="notice" role="status">
          <Icon name={iconInfo} />
          <p>{notice}</p>
        </div>
      )}
    </Form>
  )
}

type Text = (typeof formMessages)['en']

function keysError(error: string | undefined, text: Text, limit: string): string | undefined {
  if (error === undefined) return undefined
  return error === 'tooManyKeys' ? text.tooManyKeys(limit) : text.keyTooLong
}
