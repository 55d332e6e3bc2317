import type { GraphNode } from '@millwright/api/inventory/inventory.ts'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Fragment } from 'react'
import { useInventoryWrite, waitHeaders } from '../../../app/api/inventory-write.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { CopyButton } from '../../../components/actions/copy-button.tsx'
import { EditableValue } from '../../../components/forms/editable-value.tsx'
import { useNodeTypeName } from '../../../components/graph/node-type-name.ts'
import { Card } from '../../../components/page/card.tsx'
import { type KeyValueItem, KeyValueList } from '../../../components/values/key-value-list.tsx'
import { Time } from '../../../components/values/time.tsx'
import { type Asset, textAt, textsIn, valueAt } from '../../assets/model/asset.ts'
import { className } from '../../assets/model/class-names.ts'
import { StateChip } from '../../assets/table/asset-cells.tsx'
import { relationEvents } from '../asset-data.ts'
import type { AssetTabProps } from '../asset-tab.ts'
import { AvailabilityCard } from '../availability/availability-card.tsx'
import { assetMessages } from '../messages.ts'
import { modeName } from '../status/operating-mode.ts'
import { elementsOf, fieldsOf } from './asset-elements.ts'
import { CustomProperties } from './custom-properties.tsx'

/** `Overview` shows the nameplate, states, network, software, location and properties of an asset. */
export function Overview({ asset, at, canWrite }: AssetTabProps) {
  const text = useText(assetMessages)
  return (
    <div className="cards">
      <Card title={text.nameplate}>
        <Nameplate asset={asset} canWrite={canWrite} />
      </Card>
      <Card title={text.states}>
        <States asset={asset} at={at} canWrite={canWrite} />
      </Card>
      {at === undefined && <AvailabilityCard assetId={asset.id} />}
      <Card title={text.connectivity}>
        <Connectivity asset={asset} at={at} />
      </Card>
      <Card title={text.software}>
        <Software asset={asset} />
      </Card>
      <Card title={text.location}>
        <Elements elements={elementsOf(asset, 'location')} kind="location_type" />
      </Card>
      <Card title={text.custom}>
        <CustomProperties asset={asset} canWrite={canWrite} />
      </Card>
      {elementsOf(asset, 'instance_annotations').length > 0 && (
        <Card title={text.annotations}>
          <KeyValueList
            items={elementsOf(asset, 'instance_annotations').map((each) => ({
              name: textAt(each, 'key'),
              value: textAt(each, 'value'),
            }))}
          />
        </Card>
      )}
    </div>
  )
}

function Nameplate({ asset, canWrite }: Pick<AssetTabProps, 'asset' | 'canWrite'>) {
  const text = useText(assetMessages)
  const typeName = useNodeTypeName()
  const product = (path: string) => textAt(asset, `product_instance_information/manufacturer_product/${path}`)
  const type = textAt(asset, 'functional_object_type')
  return (
    <KeyValueList
      items={[
        { name: text.name, value: canWrite ? <AssetName asset={asset} /> : textAt(asset, 'name') },
        { name: text.description, value: canWrite ? <Description asset={asset} /> : textAt(asset, 'description') },
        { name: text.type, value: typeName({ type: 'asset', functional_object_type: type }) },
        { name: text.manufacturer, value: product('manufacturer/name') },
        { name: text.product, value: product('product_name') },
        { name: text.family, value: product('product_family') },
        copyable(text.articleNumber, product('product_id')),
        { name: type === 'Device' ? text.hardwareVersion : text.productVersion, value: product('product_version') },
        copyable(text.serialNumber, textAt(asset, 'product_instance_information/serial_number')),
        copyable(text.id, asset.id),
      ]}
    />
  )
}

/** Returns an item whose value can be copied. An empty value is left out. */
function copyable(name: string, value: string): KeyValueItem | false {
  if (value === '') return false
  return {
    name,
    value: (
      <span className="with-copy">
        <code title={value}>{value}</code>
        <CopyButton value={value} label={name} />
      </span>
    ),
  }
}

function AssetName({ asset }: { asset: Asset }) {
  const text = useText(assetMessages)
  const api = useApi()
  const write = useInventoryWrite()
  const save = (name: string) => {
    const body = { data: { name } }
    return write(api.inventory.setName({ params: { id: asset.id }, headers: waitHeaders, body }), text.saved)
  }
  return <EditableValue name={text.name} value={textAt(asset, 'name')} onSave={save} maxLength={256} isRequired />
}

function Description({ asset }: { asset: Asset }) {
  const text = useText(assetMessages)
  const api = useApi()
  const write = useInventoryWrite()
  const save = (description: string | null) => {
    const body = { data: { description } }
    return write(api.inventory.setDescription({ params: { id: asset.id }, headers: waitHeaders, body }), text.saved)
  }
  return (
    <EditableValue
      name={text.description}
      value={textAt(asset, 'description')}
      onSave={save}
      onClear={() => save(null)}
      maxLength={4096}
      isRequired
      isLong
    />
  )
}

/** `States` shows the states of an asset. The tiles above the tabs show the current reachability and operating mode. */
function States({ asset, at, canWrite }: AssetTabProps) {
  const text = useText(assetMessages)
  const api = useApi()
  const write = useInventoryWrite()
  const mode = textAt(asset, 'operating_mode/mode_name')
  const responsible = textAt(asset, 'responsible')
  const save = (value: string) =>
    write(
      api.inventory.setResponsible({
        params: { id: asset.id },
        headers: waitHeaders,
        body: { data: { responsible: value } },
      }),
      text.saved,
    )
  return (
    <KeyValueList
      items={[
        stateFact(text.management, asset, 'management_state'),
        at !== undefined && stateFact(text.reachability, asset, 'reachability_state'),
        stateFact(text.trust, asset, 'trust_state'),
        at !== undefined && { name: text.mode, value: modeName(mode) },
        { name: text.accessGroup, value: textAt(asset, 'access_group') },
        {
          name: text.responsible,
          value: canWrite ? (
            <EditableValue name={text.responsible} value={responsible} onSave={save} isRequired />
          ) : (
            responsible
          ),
        },
        { name: text.created, value: <Time at={textAt(asset, 'created_timestamp')} /> },
        { name: text.modified, value: <Time at={textAt(asset, 'last_modified_timestamp')} /> },
      ]}
    />
  )
}

function stateFact(name: string, asset: Asset, field: string): KeyValueItem | false {
  const value = textAt(asset, `${field}/state_value`)
  if (value === '') return false
  return { name, value: <State asset={asset} field={field} /> }
}

function State({ asset, field }: { asset: Asset; field: string }) {
  const language = useLanguage()
  const path = `${field}/state_value`
  const since = textAt(asset, `${field}/state_timestamp`)
  return (
    <span className="state-line">
      <StateChip path={path} value={textAt(asset, path)} language={language} />
      {since !== '' && (
        <span className="quiet">
          <Time at={since} isRelative />
        </span>
      )}
    </span>
  )
}

/** The maximum number of connections that the card lists. A switch has more: the tab of the relations lists them. */
const maxConnections = 3

/** Returns the assets to which an asset is connected, or none if there are too many. */
function useConnections(id: string, at: string | undefined): readonly GraphNode[] {
  const query = useOperationQuery()
  // The graph also contains the asset itself.
  const bounds = { predicates: 'is_connected_to', limit: maxConnections + 1, ...(at !== undefined && { at }) }
  const graph = useQuery(query(['inventory', 'readGraph'], { params: { id }, query: bounds }, { live: relationEvents }))
  const { nodes, truncated } = graph.data?.data ?? { nodes: [], truncated: false }
  return truncated ? [] : nodes.filter((node) => node.type === 'asset' && node.id !== id)
}

function Connectivity({ asset, at }: Pick<AssetTabProps, 'asset' | 'at'>) {
  const text = useText(assetMessages)
  const language = useLanguage()
  const points = elementsOf(asset, 'connection_points')
  const connections = useConnections(asset.id, at)
  if (points.length === 0 && connections.length === 0) return <p className="quiet">{text.none}</p>
  return (
    <ul className="plain-list parts">
      {points.map((point, index) => {
        const addresses = ['ipv4_address', 'ipv6_address', 'mac_address']
          .map((field) => textAt(point, field))
          .filter((value) => value !== '')
        const [address = ''] = addresses
        const more = [
          [text.mask, textAt(point, 'network_mask') || textAt(point, 'ipv6_network_prefix')],
          [text.router, textAt(point, 'router_ipv4_address') || textAt(point, 'router_ipv6_address')],
        ].filter(([, value]) => value !== '')
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: points have no id
          <li key={index}>
            {addresses.map((each) => (
              <span key={each} className="with-copy">
                <code>{each}</code>
                <CopyButton value={each} label={each} />
              </span>
            ))}
            <span className="quiet">
              {[
                className(textAt(point, 'connection_point_type'), language),
                // The id of a point without a name contains only its address.
                textAt(point, 'name') || (address === '' ? textAt(point, 'id') : ''),
              ]
                .filter(Boolean)
                .join(' · ')}
              {more.map(([name, value]) => ` · ${name} ${value}`)}
            </span>
          </li>
        )
      })}
      {connections.length > 0 && (
        <li>
          <span>
            {text.connectedTo}{' '}
            {connections.map(({ id, name }, index) => (
              <Fragment key={id}>
                {index > 0 && ', '}
                <Link to="/assets/$id" params={{ id }}>
                  {name || id}
                </Link>
              </Fragment>
            ))}
          </span>
        </li>
      )}
    </ul>
  )
}

function Software({ asset }: { asset: Asset }) {
  const text = useText(assetMessages)
  const components = elementsOf(asset, 'software_components')
  if (components.length === 0) return <p className="quiet">{text.none}</p>
  return (
    <ul className="plain-list parts">
      {components.map((component, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: components have no id
        <li key={index}>
          <span>
            {softwareName(component)} <strong>{textsIn(component, 'artifact/asset_identifiers', 'version')[0]}</strong>
          </span>
          <span className="quiet">
            {[
              valueAt(component, 'artifact/is_firmware') === true &&
                softwareName(component) !== 'Firmware' &&
                text.firmware,
              textAt(component, 'software_component_type') === 'RunningSoftwareComponent' && text.running,
            ]
              .filter(Boolean)
              .join(' · ')}
          </span>
        </li>
      ))}
    </ul>
  )
}

function softwareName(component: unknown): string {
  return textAt(component, 'artifact/name') || (textsIn(component, 'artifact/asset_identifiers', 'name')[0] ?? '')
}

/** `Elements` shows elements of any schema class as a list of their fields. */
function Elements({ elements, kind }: { elements: readonly unknown[]; kind: string }) {
  const text = useText(assetMessages)
  const formats = useFormats()
  const language = useLanguage()
  if (elements.length === 0) return <p className="quiet">{text.none}</p>
  const facts = elements.flatMap((element) => {
    const name = className(textAt(element, kind), language)
    const fields = fieldsOf(element, kind)
    if (fields.length === 1) return [{ name, value: fields[0]?.value }]
    return fields.map(({ field, value }) => ({
      name: `${name} ${field}`,
      value: typeof value === 'number' ? formats.number(value) : String(value),
    }))
  })
  return <KeyValueList items={facts.map(({ name, value }) => ({ name, value: String(value) }))} />
}
