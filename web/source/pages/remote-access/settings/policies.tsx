import type { AccessGroup } from '@millwright/api/authorization.ts'
import {
  defaultRemotePolicy,
  type RecordingMode,
  type RemotePolicy,
  recordingModes,
  remoteAccessLimits,
} from '@millwright/api/remote-access.ts'
import { useEffect, useEffectEvent, useState } from 'react'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { SelectField, TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import type { Column } from '../../../components/tables/data-table.tsx'
import { PagedTable } from '../../../components/tables/paged-table.tsx'
import { RowButton } from '../../../components/tables/row-link.tsx'
import { recordingNames } from '../messages.ts'
import { useRefreshSessions } from '../remote-session.ts'
import { settingMessages } from './messages.ts'
import { formOf, policyOf } from './policy-form.ts'

type GroupPolicy = { group: AccessGroup; policy: RemotePolicy; isOwn: boolean }

/** `Policies` lists the access groups with their policies, and edits a policy. */
export function Policies() {
  const text = useText(settingMessages)
  const recordings = useText(recordingNames)
  const [edited, setEdited] = useState<GroupPolicy>()
  const groups = usePagedList(['authorization', 'listAccessGroups'], {}, { live: ['authorization.access-group'] })
  const policies = usePagedList(['remote-access', 'listPolicies'], {}, { live: ['remote-access'] })
  const isComplete = !policies.isLoading && policies.rows.length >= policies.total
  const loadNext = useEffectEvent(() => policies.next())
  useEffect(() => {
    if (policies.rows.length < policies.total) loadNext()
  }, [policies.rows.length, policies.total])
  if (policies.error !== null) return <ProblemMessage failure={policies.error} onRetry={policies.retry} />
  const own = new Map(policies.rows.map(({ accessGroup, policy }) => [accessGroup, policy]))
  const rows = groups.rows.map((group) => ({
    group,
    policy: own.get(group.id) ?? defaultRemotePolicy,
    isOwn: own.has(group.id),
  }))
  return (
    <>
      <p className="card-lead">{text.policiesHint}</p>
      <PagedTable
        label={text.policies}
        pagedList={{ ...groups, rows, isLoading: groups.isLoading || !isComplete }}
        columns={columnsOf(text, recordings)}
        idOf={({ group }) => group.id}
        onOpen={setEdited}
        empty={null}
      />
      {edited !== undefined && <PolicyDialog {...edited} onClose={() => setEdited(undefined)} />}
    </>
  )
}

type Text = (typeof settingMessages)['en']

function columnsOf(text: Text, recordings: Readonly<Record<RecordingMode, string>>): Column<GroupPolicy>[] {
  return [
    { id: 'group', header: text.accessGroup, width: 200, cell: ({ group }) => <RowButton>{group.name}</RowButton> },
    { id: 'source', header: text.source, width: 150, cell: ({ isOwn }) => (isOwn ? text.own : text.standard) },
    {
      id: 'approval',
      header: text.approval,
      width: 190,
      cell: ({ policy }) => (policy.approval === 'required' ? text.approvalRequired : text.approvalNone),
    },
    { id: 'recording', header: text.recording, width: 220, cell: ({ policy }) => recordings[policy.recording] },
    { id: 'max', header: text.maxColumn, width: 140, cell: ({ policy }) => policy.maxMinutes },
    { id: 'idle', header: text.idleColumn, width: 130, cell: ({ policy }) => policy.idleMinutes },
    { id: 'ports', header: text.ports, width: 200, cell: ({ policy }) => policy.ports.join(', ') || text.noPorts },
  ]
}

type PolicyDialogProps = GroupPolicy & { onClose: () => void }

function PolicyDialog({ group, policy, onClose }: PolicyDialogProps) {
  const text = useText(settingMessages)
  const recordings = useText(recordingNames)
  const api = useApi()
  const refresh = useRefreshSessions()
  const [form, setForm] = useState(() => formOf(policy))
  const [isSubmitted, setSubmitted] = useState(false)
  const result = policyOf(form)
  const invalid = isSubmitted && 'invalid' in result ? result.invalid : undefined
  const change = (changed: Partial<typeof form>) => setForm({ ...form, ...changed })
  const save = async (data: RemotePolicy) => {
    await api['remote-access'].putPolicy({ params: { accessGroup: group.id }, body: { data } })
    showSuccess(text.saved)
    onClose()
    await refresh()
  }
  const submit = () => {
    setSubmitted(true)
    return 'invalid' in result ? false : save(result)
  }
  return (
    <Dialog title={text.policyOf(group.name)} onClose={onClose}>
      <Form action={text.save} onSubmit={submit} onCancel={onClose}>
        <SelectField
          label={text.approval}
          hint={text.approvalHint}
          value={form.approval}
          onChange={(approval) => change({ approval })}
          choices={[
            { value: 'none', label: text.approvalNone },
            { value: 'required', label: text.approvalRequired },
          ]}
        />
        <SelectField
          label={text.recording}
          hint={text.recordingHint}
          value={form.recording}
          onChange={(recording) => change({ recording })}
          choices={recordingModes.map((value) => ({ value, label: recordings[value] }))}
        />
        <TextField
          label={text.maxMinutes}
          type="number"
          error={invalid === 'maxMinutes' ? text.invalidMinutes(remoteAccessLimits.maxMinutes) : undefined}
          value={form.maxMinutes}
          onChange={(maxMinutes) => change({ maxMinutes })}
        />
        <TextField
          label={text.idleMinutes}
          hint={text.idleHint}
          type="number"
          error={invalid === 'idleMinutes' ? text.invalidMinutes(remoteAccessLimits.maxIdleMinutes) : undefined}
          value={form.idleMinutes}
          onChange={(idleMinutes) => change({ idleMinutes })}
        />
        <TextField
          label={text.ports}
          hint={text.portsHint}
          error={invalid === 'ports' ? text.invalidPorts : undefined}
          value={form.ports}
          onChange={(ports) => change({ ports })}
        />
      </Form>
    </Dialog>
  )
}
