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
import { connectMessages } from './messages.ts'

/** Selects the devices that a gateway has found. Only they can be reached through a gateway. */
const foundByScan = "functional_object_type eq 'Device' and first_discovery/run_id ne null"

/** `StartSession` lets the user search for a device that has a gateway, and opens the dialog of a new session to it. */
export function StartSession() {
  const text = useText(connectMessages)
  const formats = useFormats()
  const query = useOperationQuery()
  const canConnect = useRights().has('remote_access_connect')
  const [device, setDevice] = useState<PickedAsset>()
  const count = useQuery({ ...useTotalQuery(foundByScan), enabled: canConnect }).data?.meta.totalElements
  const target = useQuery({
    ...query(['remote-access', 'readTarget'], { params: { id: device?.id ?? '' } }, { live: ['remote-access'] }),
    enabled: device !== undefined,
  })
  if (!canConnect) return null
  const { policy, problem } = (device === undefined ? undefined : target.data?.data) ?? {}
  const approval = policy?.approval === 'required' ? text.needsApproval : text.needsNoApproval
  return (
    <Card title={text.startSession}>
      {count === 0 ? (
        <p>
          {text.noDevices} <Link to="/discovery">{text.toDiscovery}</Link>
        </p>
      ) : (
        <>
          <div className="remote-start">
            <AssetPicker label={text.device} isLabelUnseen picked={device} onPick={setDevice} filter={foundByScan} />
            <ConnectButton asset={device} isPrimary />
          </div>
          <p className="field-hint" role="status">
            {policy === undefined || problem !== undefined ? text.possible : approval}{' '}
            {device === undefined && count !== undefined && (
              <Link to="/assets" search={{ filter: foundByScan } as never}>
                {text.devices(count, formats.number(count))}
              </Link>
            )}
          </p>
        </>
      )}
      <ReadyGateways />
    </Card>
  )
}
