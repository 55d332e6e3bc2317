import type { RemoteTarget } from '@millwright/api/remote-access.ts'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useRights } from '../../../app/session/app-context.tsx'
import { AssetPicker, type PickedAsset } from '../../../components/forms/asset-picker.tsx'
import { Card } from '../../../components/page/card.tsx'
import { useTotalQuery } from '../../start/plant-queries.ts'
import { ReadyGateways } from '../settings/switches.tsx'
import { ConnectButton } from './connect-button.tsx'
import { obstacleOf } from './connect-form.ts'
import { connectMessages } from './messages.ts'

/** Selects the devices that can be picked. The platform decides for each of them whether a gateway reaches it. */
const devices = "functional_object_type eq 'Device'"
const addedByScans = `${devices} and first_discovery/run_id ne null`

/** `StartSession` lets the user search for a device, states whether a session is possible, and opens the dialog of a new session. */
export function StartSession() {
  const text = useText(connectMessages)
  const formats = useFormats()
  const query = useOperationQuery()
  const rights = useRights()
  const canConnect = rights.has('remote_access_connect') && rights.has('inventory_read_asset_data')
  const [device, setDevice] = useState<PickedAsset>()
  const count = useQuery({ ...useTotalQuery(addedByScans), enabled: canConnect }).data?.meta.totalElements ?? 0
  const target = useQuery({
    ...query(['remote-access', 'readTarget'], { params: { id: device?.id ?? '' } }, { live: ['remote-access'] }),
    enabled: device !== undefined,
  })
  if (!canConnect) return null
  const picked = device === undefined ? undefined : target.data?.data
  return (
    <Card title={text.startSession}>
      <div className="remote-start">
        <AssetPicker label={text.device} isLabelUnseen picked={device} onPick={setDevice} filter={devices} />
        <ConnectButton asset={device} isPrimary />
      </div>
      <p className="field-hint" role="status">
        {picked === undefined ? text.possible : statementOf(picked, text)}{' '}
        {device === undefined && count > 0 && (
          <Link to="/assets" search={{ filter: addedByScans } as never}>
            {text.devices(count, formats.number(count))}
          </Link>
        )}
      </p>
      <ReadyGateways />
    </Card>
  )
}

/** Returns why no session to a device is possible, or whether a session needs an approval. */
function statementOf(target: RemoteTarget, text: (typeof connectMessages)['en']): string {
  const obstacle = obstacleOf(target)
  if (obstacle !== undefined) return text[obstacle]
  if (target.problem !== undefined) return target.problem.detail ?? text.notPossible
  return target.policy.approval === 'required' ? text.needsApproval : text.needsNoApproval
}
