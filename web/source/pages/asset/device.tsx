import { iconKey, iconRefresh } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { isFailure } from '../../app/api/failure.ts'
import { keyOf, useOperationQuery } from '../../app/api/queries.ts'
import { useFormats, useLanguage, useText } from '../../app/language/language-context.tsx'
import { useApi, usePermission } from '../../app/session/app-context.tsx'
import { Loading } from '../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { Card } from '../../components/page/card.tsx'
import { EmptyState } from '../../components/page/empty-state.tsx'
import { JsonView } from '../../components/values/json-view.tsx'
import { KeyValueList } from '../../components/values/key-value-list.tsx'
import type { Asset } from '../assets/model/asset.ts'
import { AddCredentialsButton } from '../credentials/flow/add-credentials-button.tsx'
import { addressOfAsset } from './asset-data.ts'
import { valueText } from './history/differences.ts'
import { useFieldTexts } from './history/field-texts.ts'
import { measuredValues } from './live/live-properties.ts'
import { liveReading, MeasuredValues } from './live/measured-values.tsx'
import { liveMessages } from './live/messages.ts'
import { assetMessages } from './messages.ts'

/** The maximum number of properties in one request. */
const maxKeys = 256

/**
 * `Device` reads live properties from the device through its asset link. Measured values are read again at an interval while the
 * page is open.
 */
export function Device({ asset }: { asset: Asset }) {
  const { id } = asset
  const text = useText(assetMessages)
  const own = useText(liveMessages)
  const language = useLanguage()
  const { fieldName } = useFieldTexts()
  const formats = useFormats()
  const api = useApi()
  const query = useOperationQuery()
  const canDiscover = usePermission('glb_discovery_run')
  const supported = useQuery({
    ...query(['discovery', 'listSupportedProperties'], { params: { id } }),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  })
  const keys = supported.data?.data.map(({ key }) => key).slice(0, maxKeys) ?? []
  const valuesKey = keyOf('discovery', 'readProperties', { id, keys })
  const [isLive, setLive] = useState(true)
  const [lastRead, setLastRead] = useState<number>(liveReading.reads)
  const values = useQuery({
    queryKey: valuesKey,
    queryFn: () => api.discovery.readProperties({ params: { id }, body: { data: { keys } } }),
    enabled: keys.length > 0,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    refetchInterval: ({ state }) => {
      const isMeasured = measuredValues(state.data?.data ?? [], language).length > 0
      return isLive && isMeasured && state.dataUpdateCount < lastRead ? liveReading.everyMs : false
    },
  })
  const readCount = useQueryClient().getQueryState(valuesKey)?.dataUpdateCount ?? 0
  const resume = (next: boolean) => {
    setLive(next)
    if (next) setLastRead(readCount + liveReading.reads)
  }
  const failure = supported.error ?? values.error
  const again = () => (supported.data === undefined ? supported.refetch() : values.refetch())
  if (isFailure(failure, 'no_device_link')) {
    return (
      <EmptyState title={text.noLink}>
        <p>{text.noLinkHint}</p>
        {canDiscover && <Link to="/discovery">{text.toDiscovery}</Link>}
      </EmptyState>
    )
  }
  if (isFailure(failure, 'device_protected')) {
    return (
      <EmptyState icon={iconKey} title={own.protectedTitle}>
        <p>{own.protectedHint}</p>
        <AddCredentialsButton variant="primary" start={{ address: addressOfAsset(asset) }} onDone={again} />
      </EmptyState>
    )
  }
  if (failure !== null && values.data === undefined) return <ProblemMessage failure={failure} onRetry={again} />
  if (supported.data?.data.length === 0) return <EmptyState title={text.noProperties} />
  if (values.data === undefined) return <Loading label={text.reading} />
  // A structure that contains only measured values is not shown again as a tree.
  const measured = new Set(
    values.data.data.flatMap((each) => {
      const parts = measuredValues([each], language).length
      const size = 'value' in each && typeof each.value === 'object' ? Object.keys(each.value ?? {}).length : 1
      return parts > 0 && parts === size ? [each.key] : []
    }),
  )
  return (
    <div className="live">
      {failure !== null && <ProblemMessage failure={failure} onRetry={again} />}
      <MeasuredValues
        results={values.data.data}
        readAt={values.dataUpdatedAt}
        isLive={isLive && readCount < lastRead}
        onLive={resume}
      />
      <Card
        title={text.readAt(formats.dateTime(new Date(values.dataUpdatedAt).toISOString()))}
        actions={
          <IxButton variant="secondary" icon={iconRefresh} loading={values.isFetching} onClick={again}>
            {text.readAgain}
          </IxButton>
        }
      >
        <KeyValueList
          items={values.data.data
            .filter(({ key }) => !measured.has(key))
            .map((each) => ({
              name: capitalised(fieldName(each.key)),
              value:
                'error' in each ? (
                  <span className={isNotSupported(each.error.name) ? 'quiet' : 'field-error'} title={each.error.name}>
                    {each.error.description}
                  </span>
                ) : (
                  <LiveValue value={each.value} />
                ),
            }))}
        />
      </Card>
    </div>
  )
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Returns true when the error code means that the device responds but does not have the property. */
function isNotSupported(code: string): boolean {
  return ['FAILED_PRECONDITION', 'NOT_FOUND', 'UNIMPLEMENTED'].includes(code)
}

/** `LiveValue` shows a value of a device. Objects and arrays are shown as a tree. */
function LiveValue({ value }: { value: unknown }) {
  return typeof value === 'object' && value !== null ? <JsonView value={value} depth={1} /> : valueText(value)
}
