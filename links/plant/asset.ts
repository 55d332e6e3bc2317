import { baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import type { Asset } from '@millwright/link-sdk/device-identifiers.ts'
import type { Device } from './device.ts'

/** Converts a device to an asset of the inventory. */
export function assetOf(device: Device): Asset {
  return {
    functional_object_type: 'Device',
    functional_object_schema_url: baseSchemaUrl,
    name: device.name,
    description: device.description,
    asset_identifiers: identifiersOf(device),
    product_instance_information: {
      serial_number: device.serial,
      manufacturer_product: {
        manufacturer: { name: device.vendor },
        product_id: device.article,
        product_version: device.hardware,
        product_name: device.productName,
        product_family: device.family,
        product_link: device.productLink,
      },
    },
    connection_points: device.network && connectionPointsOf(device.network),
    software_components: [firmwareOf(device.firmware)],
    asset_operations: [{ operation_name: 'firmware_update', activation_flag: true }],
    asset_relations: device.parent && [moduleOf(device.parent.mac)],
    location: device.location && locationsOf(device),
    operating_mode: device.mode && { mode_name: device.mode },
  }
}

function identifiersOf({ network, ...device }: Device) {
  if (network !== undefined) {
    return [{ asset_identifier_type: 'MacIdentifier', mac_address: network.mac, identifier_uncertainty: 1 }]
  }
  const { vendor, article, serial } = device
  return [
    {
      asset_identifier_type: 'ProductInstanceIdentifier',
      vendor,
      article_number: article,
      serial_number: serial,
    },
  ]
}

function connectionPointsOf({ mac, ip, mask, router, port }: NonNullable<Device['network']>) {
  return [
    { connection_point_type: 'EthernetPort', id: port, name: port, mac_address: mac },
    {
      connection_point_type: 'Ipv4Connectivity',
      id: `${port}-ipv4`,
      ipv4_address: ip,
      network_mask: mask,
      router_ipv4_address: router,
      related_connection_points: [{ connection_point_id: port, custom_relationship: 'Relies on' }],
    },
  ]
}

function firmwareOf(version: string) {
  return {
    software_component_type: 'SoftwareArtifactComponent',
    artifact: {
      functional_object_type: 'SoftwareArtifact',
      functional_object_schema_url: baseSchemaUrl,
      name: 'Firmware',
      is_firmware: true,
      asset_identifiers: [{ asset_identifier_type: 'SoftwareIdentifier', name: 'Firmware', version }],
    },
  }
}

function moduleOf(mac: string) {
  return {
    predicate: 'is_module_of',
    relational_role_of_related_asset: 'object',
    related_asset: { asset_identifiers: [{ asset_identifier_type: 'MacIdentifier', mac_address: mac }] },
  }
}

function locationsOf({ location, parent }: Device) {
  if (location === undefined) return []
  const mounting = { location_type: 'MountingLocation', station_number: location.station, slot_number: parent?.slot }
  return [mounting, { location_type: 'Okz', location_identifier: `${location.hall}/${location.station}` }]
}
