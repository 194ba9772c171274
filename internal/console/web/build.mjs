// Bundles what the pages load into a folder, ../assets unless another is named, with the licences of what is in it.
import {build} from 'esbuild';
import {readdirSync, readFileSync, writeFileSync} from 'node:fs';

const folder = process.argv[2] ?? '../assets';
const {metafile} = await build({
  entryPoints: ['editor.js', 'chart.js'], bundle: true, minify: true, format: 'esm', target: 'es2022',
  legalComments: 'none', outdir: folder, metafile: true, logLevel: 'warning',
});
const packages = new Set();
for (const output of Object.values(metafile.outputs)) {
  for (const [file, {bytesInOutput}] of Object.entries(output.inputs)) {
    const found = /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file);
    if (found && bytesInOutput > 0) packages.add(found[1]);
  }
}
const texts = [...packages].sort().map((name) => {
  const from = `node_modules/${name}`;
  const licence = readdirSync(from).find((f) => /^licen[cs]e/i.test(f));
  const {version, license} = JSON.parse(readFileSync(`${from}/package.json`, 'utf8'));
  return `${name} ${version} (${license})\n\n${licence ? readFileSync(`${from}/${licence}`, 'utf8').trim() : ''}\n`;
});
writeFileSync(`${folder}/licences`, texts.join(`\n${'-'.repeat(80)}\n\n`));
