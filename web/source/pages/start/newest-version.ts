import { useMemo } from 'react'
import { type Asset, textAt } from '../assets/model/asset.ts'
import { useDrift } from './plant-queries.ts'

const path = 'product_instance_information/manufacturer_product'

/** Returns a function that returns the newest known firmware version of the product of an asset. */
export function useNewestVersion(): (asset: Asset) => string | undefined {
  const products = useDrift().data?.data
  return useMemo(() => {
    const versions = new Map(
      products?.map(({ manufacturer, product, newestKnown }) => [`${manufacturer} ${product}`, newestKnown]),
    )
    return (asset) => {
      const versionOf = (field: string) =>
        versions.get(`${textAt(asset, `${path}/manufacturer/name`)} ${textAt(asset, `${path}/${field}`)}`)
      return versionOf('product_id') ?? versionOf('product_name')
    }
  }, [products])
}
