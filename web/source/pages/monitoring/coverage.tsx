import { type Coverage, monitoringLimits } from '@millwright/api/monitoring.ts'
import { iconInfo } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { useApi, usePermission } from '../../app/session/app-context.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { FigureTile, FigureTiles } from '../../components/values/figure-tiles.tsx'
import { Icon } from '../../components/values/icon.tsx'
import { unreachableFilter } from '../start/plant-queries.ts'
import { emptyForm, type MonitoringForm } from './form/monitoring-form.ts'
import { useTargetCount } from './form/target-count.tsx'
import { monitoringMessages } from './messages.ts'
import { useCoverage } from './monitoring-data.ts'
import { UnreachableDevices } from './unreachable-devices.tsx'

type CoverageFiguresProps = { onMonitor: (preset: MonitoringForm) => void }

/** `CoverageFigures` shows how many devices are monitored, by state, and how many are not. The figures add up. */
export function CoverageFigures({ onMonitor }: CoverageFiguresProps) {
  const text = useText(monitoringMessages)
  const formats = useFormats()
  const coverage = useCoverage()
  if (coverage === undefined) return null
  const { devices, monitored, reached, failed, failedSinceTimestamp, unknown, unmonitored } = coverage
  const share = (count: number, all: number) => formats.percent(count / Math.max(1, all))
  // There is no room for the day and the time. The tooltip contains both.
  const shortTime = (at: string) =>
    formats.date(at) === formats.date(new Date().toISOString()) ? formats.shortTime(at) : formats.dayMonth(at)
  const ofMonitored = (count: number) => text.shareOfMonitored(share(count, monitored))
  return (
    <>
      <FigureTiles label={text.coverage}>
        <FigureTile name={text.allDevices} value={devices} hint={text.allDevicesHint} />
        <FigureTile name={text.monitored} value={monitored} hint={text.shareOfDevices(share(monitored, devices))} />
        <FigureTile
          name={text.reached}
          value={reached}
          hint={ofMonitored(reached)}
          {...(reached > 0 && { tone: 'good' })}
        />
        <FigureTile
          to={failed > 0 ? '/assets' : undefined}
          search={{ filter: unreachableFilter }}
          name={text.unreachable}
          value={failed}
          hint={
            failed === 0 ? (
              ofMonitored(failed)
            ) : (
              <>
                {failedSinceTimestamp !== undefined && (
                  <span title={formats.exact(failedSinceTimestamp)}>
                    {text.longestSince(failed, shortTime(failedSinceTimestamp))}
                  </span>
                )}
                <span className="tile-link">{text.showUnreachable}</span>
              </>
            )
          }
          {...(failed > 0 && { tone: 'bad' })}
        />
        {unknown > 0 && <FigureTile name={text.unknown} value={unknown} hint={text.unknownHint} tone="warning" />}
        <FigureTile
          name={text.unmonitored}
          value={unmonitored}
          hint={text.shareOfDevices(share(unmonitored, devices))}
          {...(unmonitored > 0 && { tone: 'warning' })}
        />
      </FigureTiles>
      {failed > 0 && <UnreachableDevices />}
      {unmonitored > 0 && <Unmonitored coverage={coverage} onMonitor={onMonitor} />}
    </>
  )
}

type UnmonitoredProps = { coverage: Coverage; onMonitor: (preset: MonitoringForm) => void }

/** `Unmonitored` shows why devices are not monitored, and what to do: add a task for found devices, or find devices with a scan. */
function Unmonitored({ coverage, onMonitor }: UnmonitoredProps) {
  const text = useText(monitoringMessages)
  const formats = useFormats()
  const api = useApi()
  const canRun = usePermission('glb_discovery_run')
  const counted = useTargetCount({ filter: emptyForm().filter, links: [] }).data?.data
  const { unmonitored } = coverage
  const ready = counted === undefined ? 0 : Math.min(unmonitored, counted.checkable - counted.monitored)
  const toFind = unmonitored - ready
  // If some devices are monitored, the new task names the others. Otherwise it also checks the devices of later scans.
  const isRest = counted !== undefined && counted.checkable > ready
  const offered = Math.min(ready, isRest ? monitoringLimits.assetIds : ready)
  const [failure, setFailure] = useState<unknown>()
  const openPreset = async () => {
    const form = emptyForm()
    if (!isRest) return onMonitor({ ...form, name: text.presetName })
    try {
      setFailure(undefined)
      const { data } = await api.monitoring.listUnmonitoredTargets({
        body: { data: { targets: { filter: form.filter } } },
      })
      onMonitor({ ...form, name: text.restName, targetKind: 'list', assetIds: data.assetIds })
    } catch (error) {
      setFailure(error)
    }
  }
  return (
    <section className="notice" data-tone="info" aria-label={text.unmonitored}>
      <Icon name={iconInfo} />
      <div>
        <p className="notice-title">{text.unmonitoredTitle(unmonitored, formats.number(unmonitored))}</p>
        {counted !== undefined && (
          <>
            {ready > 0 && (
              <p>
                {counted.checkable === ready
                  ? text.readyText(ready, formats.number(ready))
                  : text.readyOf(
                      formats.number(counted.checkable),
                      formats.number(counted.checkable - ready),
                      formats.number(ready),
                    )}
              </p>
            )}
            {toFind > 0 && <p>{text.toFindText(toFind, formats.number(toFind))}</p>}
          </>
        )}
        {failure !== undefined && <ProblemMessage failure={failure} />}
        {canRun && (
          <div className="notice-actions">
            {counted !== undefined && ready > 0 && (
              <IxButton variant="secondary" onClick={openPreset}>
                {isRest
                  ? text.monitorOther(offered, formats.number(offered))
                  : text.monitorRest(offered, formats.number(offered))}
              </IxButton>
            )}
            {toFind > 0 && (
              <Link to="/discovery" search={{ scan: 'any' } as never} className="button-link secondary">
                {text.toDiscovery}
              </Link>
            )}
          </div>
        )}
      </div>
    </section>
  )
}
