import type { AssetCredentialInstance } from '@millwright/api/credentials-shapes.ts'
import { iconKey } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { usePagedList } from '../../app/api/paged-list.ts'
import { keyOf, useOperationQuery } from '../../app/api/queries.ts'
import { useText } from '../../app/language/language-context.tsx'
import { useApi, usePermission } from '../../app/session/app-context.tsx'
import { ConfirmDialog } from '../../components/dialogs/confirm-dialog.tsx'
import { showSuccess } from '../../components/feedback/toast.ts'
import { SelectField } from '../../components/forms/fields.tsx'
import { EmptyState } from '../../components/page/empty-state.tsx'
import { PagedTable } from '../../components/tables/paged-table.tsx'
import { StatusChip } from '../../components/values/status-chip.tsx'
import { Time } from '../../components/values/time.tsx'
import type { Asset } from '../assets/model/asset.ts'
import { AddCredentialsButton } from '../credentials/flow/add-credentials-button.tsx'
import { linkTitle } from '../discovery/built-in-links.ts'
import { addressOfAsset } from './asset-data.ts'
import { assetMessages } from './messages.ts'

/**
 * `Credentials` lists the credentials of a device, each with its last successful and failed login. Secrets are not
 * shown.
 */
export function Credentials({ asset }: { asset: Asset }) {
  const { id } = asset
  const text = useText(assetMessages)
  const canWrite = usePermission('glb_credential_write')
  const [isAssigning, setAssigning] = useState(false)
  const [unassigned, setUnassigned] = useState<AssetCredentialInstance>()
  const pagedList = usePagedList(
    ['credentials', 'listAssetInstances'],
    { params: { assetId: id } },
    { live: ['credentials'] },
  )
  return (
    <>
      <div className="view-head">
        <p className="quiet">{text.credentialsHint}</p>
        {canWrite && (
          <span className="view-actions">
            <IxButton variant="secondary" onClick={() => setAssigning(true)}>
              {text.assign}
            </IxButton>
            <AddCredentialsButton variant="primary" start={{ address: addressOfAsset(asset) }} />
          </span>
        )}
      </div>
      <PagedTable
        label={text.credentials}
        pagedList={pagedList}
        idOf={(instance) => instance.id}
        columns={[
          { id: 'name', header: text.credential, width: 220, cell: (each) => <InstanceLink instance={each} /> },
          { id: 'for', header: text.link, width: 200, cell: (each) => linkTitle(each.resourceIdentifier) },
          {
            id: 'how',
            header: text.origin,
            width: 140,
            cell: (each) => (
              <StatusChip tone="info">{each.assigned ? text.isAssigned : text.successfulLogin}</StatusChip>
            ),
          },
          {
            id: 'worked',
            header: text.lastWorked,
            width: 180,
            cell: (each) => <LatestAttempt of={each} which="lastWorkedTimestamp" />,
          },
          {
            id: 'failed',
            header: text.lastFailed,
            width: 180,
            cell: (each) => <LatestAttempt of={each} which="lastFailedTimestamp" />,
          },
          {
            id: 'leave',
            header: text.actions,
            width: 130,
            cell: (each) =>
              canWrite &&
              each.assigned && (
                <IxButton variant="tertiary" onClick={() => setUnassigned(each)}>
                  {text.unassign}
                </IxButton>
              ),
          },
        ]}
        empty={
          <EmptyState icon={iconKey} title={text.noCredentials}>
            <p>{text.noCredentialsHint}</p>
          </EmptyState>
        }
      />
      {isAssigning && <AssignDialog id={id} onClose={() => setAssigning(false)} />}
      {unassigned !== undefined && (
        <UnassignDialog id={id} instance={unassigned} onClose={() => setUnassigned(undefined)} />
      )}
    </>
  )
}

function InstanceLink({ instance }: { instance: AssetCredentialInstance }) {
  return (
    <Link to="/credentials/$id" params={{ id: instance.copiedFrom ?? instance.id }}>
      {instance.name}
    </Link>
  )
}

type AttemptField = 'lastWorkedTimestamp' | 'lastFailedTimestamp'

function LatestAttempt({ of, which }: { of: AssetCredentialInstance; which: AttemptField }) {
  const latest = of.associations
    .map((each) => each[which] ?? '')
    .toSorted()
    .at(-1)
  return <Time at={latest || undefined} />
}

function useInvalidateCredentials(): () => Promise<void> {
  const queryClient = useQueryClient()
  return () => queryClient.invalidateQueries({ queryKey: keyOf('credentials') })
}

function AssignDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const text = useText(assetMessages)
  const api = useApi()
  const renew = useInvalidateCredentials()
  const query = useOperationQuery()
  const [chosen, setChosen] = useState<string>()
  const offered =
    useQuery(query(['credentials', 'listInstances'], { query: { purpose: 'monitoring', assigned: false, limit: 100 } }))
      .data?.data ?? []
  const instanceId = chosen ?? offered[0]?.id
  const assign = async () => {
    if (instanceId === undefined) return
    await api.credentials.assignInstance({ params: { assetId: id, instanceId } })
    showSuccess(text.assigned)
    await renew()
  }
  return (
    <ConfirmDialog
      title={text.assignTitle}
      action={text.assign}
      isDone={instanceId === undefined}
      onClose={onClose}
      onConfirm={assign}
    >
      {offered.length === 0 ? (
        <p>
          {text.noneToAssign} <Link to="/credentials">{text.toCredentials}</Link>
        </p>
      ) : (
        <SelectField
          label={text.assignWhich}
          value={instanceId ?? ''}
          onChange={setChosen}
          choices={offered.map((each) => ({ value: each.id, label: `${each.name} (${each.resourceIdentifier})` }))}
        />
      )}
    </ConfirmDialog>
  )
}

type UnassignDialogProps = { id: string; instance: AssetCredentialInstance; onClose: () => void }

function UnassignDialog({ id, instance, onClose }: UnassignDialogProps) {
  const text = useText(assetMessages)
  const api = useApi()
  const renew = useInvalidateCredentials()
  const unassign = async () => {
    await api.credentials.unassignInstance({ params: { assetId: id, instanceId: instance.id } })
    showSuccess(text.unassigned)
    await renew()
  }
  return (
    <ConfirmDialog title={text.unassignTitle} action={text.unassign} isDangerous onClose={onClose} onConfirm={unassign}>
      <p>{text.unassignText(instance.name)}</p>
    </ConfirmDialog>
  )
}
