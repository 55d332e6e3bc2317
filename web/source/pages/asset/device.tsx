import { iconRefresh } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { isFailure } from '../../app/api/failure.ts'
import { keyOf, useOperationQuery } from '../../app/api/queries.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { useApi, usePermission } from '../../app/session/app-context.tsx'
import { Loading } from '../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { Card } from '../../components/page/card.tsx'
import { EmptyState } from '../../components/page/empty-state.tsx'
import { JsonView } from '../../components/values/json-view.tsx'
import { KeyValueList } from '../../components/values/key-value-list.tsx'
import { fieldPathText, valueText } from './history/differences.ts'
import { assetMessages } from './messages.ts'

/** The maximum number of properties in one request. */
const maxKeys = 256

/** `Device` reads live properties from the device through its asset link. */
export function Device({ id }: { id: string }) {
  const text = useText(assetMessages)
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
  const values = useQuery({
    queryKey: keyOf('discovery', 'readProperties', { id, keys }),
    queryFn: () => api.discovery.readProperties({ params: { id }, body: { data: { keys } } }),
    enabled: keys.length > 0,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  })
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
  if (failure !== null) return <ProblemMessage failure={failure} onRetry={again} />
  if (supported.data?.data.length === 0) return <EmptyState title={text.noProperties} />
  if (values.data === undefined) return <Loading label={text.reading} />
  return (
    <div className="live">
      <Card
        title={text.readAt(formats.dateTime(new Date(values.dataUpdatedAt).toISOString()))}
        actions={
          <IxButton variant="secondary" icon={iconRefresh} loading={values.isFetching} onClick={again}>
            {text.readAgain}
          </IxButton>
        }
      >
        <KeyValueList
          items={values.data.data.map((each) => ({
            name: fieldPathText(each.key),
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

/** Returns true when the error code means that the device responds but does not have the property. */
function isNotSupported(code: string): boolean {
  return ['FAILED_PRECONDITION', 'NOT_FOUND', 'UNIMPLEMENTED'].includes(code)
}

/** `LiveValue` shows a value of a device. Objects and arrays are shown as a tree. */
function LiveValue({ value }: { value: unknown }) {
  return typeof value === 'object' && value !== null ? <JsonView value={value} depth={1} /> : valueText(value)
}
