import { type Campaign, type CampaignDevice, type DeviceState, deviceStates } from '@millwright/api/updates.ts'
import { IxButton } from '@siemens/ix-react'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { withoutStatusCode } from '../../../app/language/link-message.ts'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { useApi } from '../../../app/session/app-context.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { SelectField } from '../../../components/forms/fields.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import type { Column } from '../../../components/tables/data-table.tsx'
import { PagedTable } from '../../../components/tables/paged-table.tsx'
import { Toolbar } from '../../../components/tables/toolbar.tsx'
import { Time } from '../../../components/values/time.tsx'
import { DeviceStateChip } from '../state-chips.tsx'
import { deviceStateNames } from '../state-names.ts'
import { updateEvents, useRefreshUpdates } from '../update-data.ts'
import { stepsText } from '../version-steps.ts'
import { type CampaignText, campaignMessages } from './messages.ts'

/** The states in which a device can be updated again. */
const retried: readonly DeviceState[] = ['failed', 'unknown']

/** `DeviceTable` lists the devices of a campaign. The user filters them, and selects devices that are updated again. */
export function DeviceTable({ campaign }: { campaign: Campaign }) {
  const text = useText(campaignMessages)
  const names = useText(deviceStateNames)
  const formats = useFormats()
  const [search, setSearch] = useSearchState<'state' | 'wave' | 'reason'>()
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const state = deviceStates.find((each) => each === search.state)
  const waves = campaign.waveCounts.map(({ wave }) => wave)
  const wave = waves.find((each) => String(each) === search.wave)
  const pagedList = usePagedList(
    ['updates', 'listDevices'],
    {
      params: { id: campaign.id },
      query: {
        ...(state && { state }),
        ...(wave !== undefined && { wave }),
        ...(search.reason && { reason: search.reason }),
      },
    },
    updateEvents,
  )
  const canRetry = campaign.actions.includes('retry')
  const chosen = pagedList.rows.filter(
    ({ assetId, ...device }) => selected.has(assetId) && retried.includes(device.state),
  )
  return (
    <>
      <Toolbar count={text.deviceCount(pagedList.total, formats.number(pagedList.total))}>
        <SelectField
          label={text.state}
          isLabelUnseen
          value={state ?? ''}
          onChange={(value) => setSearch({ state: value })}
          choices={[
            { value: '', label: text.anyState },
            ...deviceStates.map((value) => ({ value, label: names[value] })),
          ]}
        />
        {waves.length > 1 && (
          <SelectField
            label={text.waveColumn}
            isLabelUnseen
            value={wave === undefined ? '' : String(wave)}
            onChange={(value) => setSearch({ wave: value })}
            choices={[
              { value: '', label: text.anyWave },
              ...waves.map((value) => ({ value: String(value), label: text.wave(value) })),
            ]}
          />
        )}
        {search.reason !== undefined && (
          <span className="reason-filter">
            <span lang="en">{text.onlyReason(search.reason)}</span>{' '}
            <button type="button" className="link-button" onClick={() => setSearch({ reason: undefined })}>
              {text.showAll}
            </button>
          </span>
        )}
        {canRetry && chosen.length > 0 && (
          <RetrySelected campaign={campaign} devices={chosen} onDone={() => setSelected(new Set())} />
        )}
      </Toolbar>
      <PagedTable
        label={text.devices}
        pagedList={pagedList}
        columns={columnsOf(text).filter(
          ({ id }) =>
            (id !== 'reason' || pagedList.rows.some(({ reason }) => reason !== undefined)) &&
            (id !== 'attempt' || pagedList.rows.some(({ attempt }) => attempt > 1)),
        )}
        idOf={({ assetId }) => assetId}
        {...(canRetry && { selection: { selected, onChange: setSelected } })}
        empty={
          <EmptyState title={text.noDevices}>
            <p>{text.noDevicesHint}</p>
            <IxButton
              variant="secondary"
              onClick={() => setSearch({ state: undefined, wave: undefined, reason: undefined })}
            >
              {text.showAll}
            </IxButton>
          </EmptyState>
        }
      />
    </>
  )
}

type RetrySelectedProps = { campaign: Campaign; devices: readonly CampaignDevice[]; onDone: () => void }

function RetrySelected({ campaign, devices, onDone }: RetrySelectedProps) {
  const text = useText(campaignMessages)
  const formats = useFormats()
  const api = useApi()
  const refresh = useRefreshUpdates()
  const [isAsking, setAsking] = useState(false)
  const unknown = devices.filter(({ state }) => state === 'unknown').length
  const retry = async () => {
    const assetIds = devices.map(({ assetId }) => assetId)
    await api.updates.retryCampaign({ params: { id: campaign.id }, body: { data: { assetIds } } })
    showSuccess(text.retriedToast)
    onDone()
    await refresh()
  }
  return (
    <>
      <IxButton onClick={() => setAsking(true)}>{text.retrySelected(formats.number(devices.length))}</IxButton>
      <IxButton variant="secondary" onClick={onDone}>
        {text.unselect}
      </IxButton>
      {isAsking && (
        <ConfirmDialog
          title={text.retrySelectedTitle}
          action={text.retryVerb}
          isDangerous={unknown > 0}
          onConfirm={retry}
          onClose={() => setAsking(false)}
        >
          <p>{text.retrySelectedText(text.deviceCount(devices.length, formats.number(devices.length)))}</p>
          {unknown > 0 && (
            <p className="remark" data-tone="bad">
              {text.retryUnknownText(formats.number(unknown))}
            </p>
          )}
        </ConfirmDialog>
      )}
    </>
  )
}

function columnsOf(text: CampaignText): Column<CampaignDevice>[] {
  return [
    {
      id: 'asset',
      header: text.asset,
      width: 220,
      cell: ({ assetId, assetName }) => <Link to={`/assets/${assetId}`}>{assetName ?? assetId}</Link>,
    },
    { id: 'state', header: text.state, width: 230, cell: (device) => <DeviceStateChip device={device} /> },
    { id: 'versions', header: text.versions, width: 190, cell: (device) => stepsText(device, text.unknownVersion) },
    { id: 'reported', header: text.reported, width: 150, cell: ({ reportedVersion }) => reportedVersion },
    { id: 'reason', header: text.reason, width: 360, cell: ({ reason }) => reason && withoutStatusCode(reason) },
    { id: 'wave', header: text.waveColumn, width: 80, isNumber: true, cell: ({ wave }) => wave },
    { id: 'attempt', header: text.attempt, width: 90, isNumber: true, cell: ({ attempt }) => attempt },
    {
      id: 'job',
      header: text.job,
      width: 120,
      cell: ({ jobId }) => jobId !== undefined && <Link to={`/jobs/${jobId}`}>{text.viewJob}</Link>,
    },
    {
      id: 'changed',
      header: text.changed,
      width: 170,
      cell: ({ lastModifiedTimestamp }) => <Time at={lastModifiedTimestamp} />,
    },
  ]
}
