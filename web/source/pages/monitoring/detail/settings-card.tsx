import type { Monitoring } from '@millwright/api/monitoring.ts'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { usePermission } from '../../../app/session/app-context.tsx'
import { Card } from '../../../components/page/card.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { PrincipalLink } from '../../../components/values/principal-link.tsx'
import { Time } from '../../../components/values/time.tsx'
import { useLinkNamesOfAll } from '../../discovery/gateways/gateway-links.ts'
import { useScheduleText } from '../../discovery/scans/schedule-text.ts'
import { formMessages } from '../form/messages.ts'
import { monitoringMessages } from '../messages.ts'
import { detailMessages } from './messages.ts'

/** `SettingsCard` shows what a monitoring checks, when and how. */
export function SettingsCard({ monitoring }: { monitoring: Monitoring }) {
  const text = useText(detailMessages)
  const fields = useText(formMessages)
  const linkNames = useLinkNamesOfAll()
  const { assetLinkIds, instancesTemplateId, assignWorking, keys, owner, createdTimestamp } = monitoring
  return (
    <Card title={text.settings}>
      <KeyValueList
        items={[
          { name: fields.schedule, value: <Schedule schedule={monitoring.schedule} /> },
          { name: fields.devices, value: <Targets targets={monitoring.targets} /> },
          {
            name: fields.links,
            value:
              assetLinkIds.length === 0
                ? fields.allLinks
                : assetLinkIds.map((link) => linkNames.get(link) ?? link).join(', '),
          },
          {
            name: fields.set,
            value:
              instancesTemplateId === undefined ? fields.noSet : <SetName instancesTemplateId={instancesTemplateId} />,
          },
          instancesTemplateId !== undefined && { name: fields.assign, value: assignWorking ? text.yes : text.no },
          keys.length > 0 && {
            name: fields.properties,
            value: (
              <ul className="plain-list">
                {keys.map((key) => (
                  <li key={key}>
                    <code>{key}</code>
                  </li>
                ))}
              </ul>
            ),
          },
          { name: text.owner, value: <PrincipalLink id={owner.id} name={owner.name} /> },
          { name: text.created, value: <Time at={createdTimestamp} /> },
        ]}
      />
    </Card>
  )
}

function Schedule({ schedule }: { schedule: Monitoring['schedule'] | undefined }) {
  const shared = useText(monitoringMessages)
  const text = useText(detailMessages)
  const formats = useFormats()
  const scheduleText = useScheduleText()
  if (schedule === undefined) return shared.manual
  const { cron, timezone, paused, nextRuns, missedRuns } = schedule
  return (
    <>
      <p>{`${scheduleText(cron)} (${timezone})`}</p>
      <p className="quiet">
        {paused ? (
          shared.paused
        ) : (
          <>
            {shared.nextRun}: <Time at={nextRuns[0]} isRelative />
          </>
        )}
      </p>
      {missedRuns > 0 && <p className="quiet">{text.skipped(missedRuns, formats.number(missedRuns))}</p>}
    </>
  )
}

function Targets({ targets }: Pick<Monitoring, 'targets'>) {
  const text = useText(formMessages)
  const formats = useFormats()
  if ('assetIds' in targets)
    return text.selectedAssets(targets.assetIds.length, formats.number(targets.assetIds.length))
  return (
    <Link to="/assets" search={{ filter: targets.filter } as never}>
      <code>{targets.filter}</code>
    </Link>
  )
}

function SetName({ instancesTemplateId }: { instancesTemplateId: string }) {
  const query = useOperationQuery()
  const canRead = usePermission('glb_credential_read')
  const set = useQuery({
    ...query(['credentials', 'getInstancesTemplate'], { params: { instancesTemplateId } }, { live: ['credentials'] }),
    enabled: canRead,
  })
  if (!canRead) return instancesTemplateId
  return (
    <Link to="/credentials" search={{ view: 'templates' } as never}>
      {set.data?.data.name ?? instancesTemplateId}
    </Link>
  )
}
