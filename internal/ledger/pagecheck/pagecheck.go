// Package pagecheck proves that the pages of a bbolt file are sound.
//
// bbolt trusts its pages. On a damaged file it panics, reads outside of its mapping, or falls back to the last commit
// but one, which would give spent budget back. So every page is checked before bbolt may open the file.
package pagecheck

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
)

// Sizes and flags of bbolt's file format (go.etcd.io/bbolt/internal/common: page.go, meta.go, inode.go).
const (
	pageHeader    = 16 // id uint64, flags uint16, count uint16, overflow uint32
	pageElement   = 16 // branch: pos, ksize uint32, pgid uint64; leaf: flags, pos, ksize, vsize uint32
	bucketHeader  = 16 // root, sequence uint64
	metaBytes     = 64
	metaMagic     = 0xED0CDAED
	metaVersion   = 2
	flagBranch    = 0x01
	flagLeaf      = 0x02
	flagMeta      = 0x04
	flagFreelist  = 0x10
	leafIsBucket  = 0x01
	noFreelist    = 1<<64 - 1
	manyFree      = 0xFFFF // count of a freelist whose true length is its first entry
	deepestBucket = 32
)

// native is the byte order of the file: bbolt maps its structs.
var native = binary.NativeEndian

// metaPage holds the fields of one of the two meta pages.
type metaPage struct {
	pageSize             int64
	root, freelist, high uint64 // page numbers; high is one past the last in use
	txid                 uint64
}

// checker walks the pages of a bbolt file.
type checker struct {
	file *os.File
	metaPage
	used    []bool   // by page number
	buffers [][]byte // the page that is being checked at each depth
}

// Check returns an error unless every page that bbolt may read is complete, has the type that its place asks for, and
// is referred to once.
func Check(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() == 0 {
		return errors.New("it is empty (0 bytes)")
	}
	meta, err := readMetas(f)
	if err != nil {
		return err
	}
	if need := int64(meta.high) * meta.pageSize; info.Size() < need {
		return fmt.Errorf("it ends at byte %d, within page %d; its %d pages need %d bytes", info.Size(),
			info.Size()/meta.pageSize, meta.high, need)
	}
	c := &checker{file: f, metaPage: meta, used: make([]bool, meta.high), buffers: make([][]byte, deepestBucket+2)}
	c.used[0], c.used[1] = true, true
	if err := c.tree(c.root, nil, nil, 0); err != nil {
		return err
	}
	return c.free()
}

// readMetas reads both meta pages and returns the later one. A single bad page is refused too: it may be that of the
// latest commit.
func readMetas(f *os.File) (metaPage, error) {
	m, err := readMeta(f, 0)
	if err != nil {
		return m, fmt.Errorf("page 0 at byte 0: %w", err)
	}
	if m.pageSize < 1024 || m.pageSize > 1<<16 || m.pageSize&(m.pageSize-1) != 0 {
		return m, fmt.Errorf("page 0 at byte 0: page size %d is not a power of two from 1024 to 65536", m.pageSize)
	}
	other, err := readMeta(f, m.pageSize)
	if err == nil && other.pageSize != m.pageSize {
		err = fmt.Errorf("page size %d is not %d, as in page 0", other.pageSize, m.pageSize)
	}
	if err == nil && m.txid+1 != other.txid && other.txid+1 != m.txid {
		err = fmt.Errorf("its commit %d does not follow page 0's %d", other.txid, m.txid)
	}
	if err != nil {
		return m, fmt.Errorf("page 1 at byte %d: %w", m.pageSize, err)
	}
	if other.txid > m.txid {
		m = other
	}
	if m.high < 2 || m.high > uint64(1<<62/m.pageSize) || m.root < 2 || m.root >= m.high {
		return m, fmt.Errorf("commit %d: root page %d of %d", m.txid, m.root, m.high)
	}
	return m, nil
}

func readMeta(f *os.File, at int64) (metaPage, error) {
	b := make([]byte, pageHeader+metaBytes)
	if _, err := f.ReadAt(b, at); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("ends too early")
		}
		return metaPage{}, err
	}
	flags, b := native.Uint16(b[8:]), b[pageHeader:]
	h := fnv.New64a()
	h.Write(b[:metaBytes-8])
	switch {
	case native.Uint32(b) != metaMagic || flags != flagMeta:
		return metaPage{}, errors.New("is not a bbolt meta page")
	case native.Uint32(b[4:]) != metaVersion:
		return metaPage{}, fmt.Errorf("bbolt format %d, not %d", native.Uint32(b[4:]), metaVersion)
	case native.Uint64(b[56:]) != h.Sum64():
		return metaPage{}, errors.New("checksum does not match")
	}
	return metaPage{
		pageSize: int64(native.Uint32(b[8:])),
		root:     native.Uint64(b[16:]),
		freelist: native.Uint64(b[32:]),
		high:     native.Uint64(b[40:]),
		txid:     native.Uint64(b[48:]),
	}, nil
}

// page reads a page with its overflow and marks it as used. Its bytes are valid until the next page of that depth.
func (c *checker) page(id uint64, depth int) ([]byte, error) {
	where := func(format string, args ...any) error {
		return fmt.Errorf("page %d at byte %d: "+format, append([]any{id, int64(id) * c.pageSize}, args...)...)
	}
	if id < 2 || id >= c.high {
		return nil, fmt.Errorf("page %d is referred to, but the file has %d pages", id, c.high)
	}
	if depth > deepestBucket {
		return nil, fmt.Errorf("page %d: nested more than %d deep", id, deepestBucket)
	}
	b, err := c.read(id, 0, depth)
	if err != nil {
		return nil, where("%w", err)
	}
	more := uint64(native.Uint32(b[12:]))
	if got := native.Uint64(b); got != id {
		return nil, where("it is marked as page %d", got)
	}
	if id+more >= c.high {
		return nil, where("it claims %d more pages, but the file has %d", more, c.high)
	}
	for i := id; i <= id+more; i++ {
		if c.used[i] {
			return nil, where("page %d is referred to twice", i)
		}
		c.used[i] = true
	}
	if more == 0 {
		return b, nil
	}
	if b, err = c.read(id, more, depth); err != nil {
		return nil, where("%w", err)
	}
	return b, nil
}

// read reads a page and a number of those that follow it.
func (c *checker) read(id, more uint64, depth int) ([]byte, error) {
	size := int(more+1) * int(c.pageSize)
	if cap(c.buffers[depth]) < size {
		c.buffers[depth] = make([]byte, size)
	}
	b := c.buffers[depth][:size]
	_, err := c.file.ReadAt(b, int64(id)*c.pageSize)
	return b, err
}

// tree checks the pages of a bucket below page id, whose keys lie in [from, to); nil is open.
func (c *checker) tree(id uint64, from, to []byte, depth int) error {
	b, err := c.page(id, depth)
	if err != nil {
		return err
	}
	if err := c.elements(b, from, to, depth); err != nil {
		return fmt.Errorf("page %d at byte %d: %w", id, int64(id)*c.pageSize, err)
	}
	return nil
}

// elements checks one branch or leaf page and the pages and buckets that it refers to.
func (c *checker) elements(b, from, to []byte, depth int) error {
	flags, count := native.Uint16(b[8:]), int(native.Uint16(b[10:]))
	if flags != flagBranch && flags != flagLeaf {
		return fmt.Errorf("flags %#x are neither a branch's nor a leaf's", flags)
	}
	if depth > deepestBucket {
		return fmt.Errorf("nested more than %d deep", deepestBucket)
	}
	if pageHeader+count*pageElement > len(b) || flags == flagBranch && count == 0 {
		return fmt.Errorf("%d entries do not fit", count)
	}
	var last []byte
	refers := flags == flagBranch
	for i := range count {
		e, ok := readElement(b, flags, count, i)
		if !ok {
			return fmt.Errorf("entry %d lies outside the page", i)
		}
		if i > 0 && bytes.Compare(last, e.key) >= 0 ||
			from != nil && bytes.Compare(e.key, from) < 0 || to != nil && bytes.Compare(e.key, to) >= 0 {
			return fmt.Errorf("entry %d is out of order", i)
		}
		last, refers = e.key, refers || e.bucket != nil
	}
	for i := 0; refers && i < count; i++ {
		if err := c.below(b, flags, count, i, to, depth); err != nil {
			return err
		}
	}
	return nil
}

// element is one entry of a branch or leaf page.
type element struct {
	key    []byte
	child  uint64 // branch: page number
	bucket []byte // leaf: of a bucket; else nil
}

// readElement reads entry i of count, unless it lies outside the page.
func readElement(b []byte, flags uint16, count, i int) (element, bool) {
	var e element
	at := uint64(pageHeader + i*pageElement)
	head := b[at : at+pageElement]
	var pos, ksize, vsize uint64
	if flags == flagBranch {
		pos, ksize, e.child = uint64(native.Uint32(head)), uint64(native.Uint32(head[4:])), native.Uint64(head[8:])
	} else {
		pos, ksize, vsize = uint64(native.Uint32(head[4:])), uint64(native.Uint32(head[8:])), uint64(native.Uint32(head[12:]))
	}
	start := at + pos
	if start+ksize+vsize > uint64(len(b)) || start < uint64(pageHeader+count*pageElement) {
		return e, false
	}
	e.key = b[start : start+ksize]
	if flags == flagLeaf && native.Uint32(head)&leafIsBucket != 0 {
		e.bucket = b[start+ksize : start+ksize+vsize]
	}
	return e, true
}

// below follows entry i of a sound page: a branch's page, or a bucket in a leaf.
func (c *checker) below(b []byte, flags uint16, count, i int, to []byte, depth int) error {
	e, _ := readElement(b, flags, count, i)
	if flags == flagBranch {
		if i+1 < count {
			next, _ := readElement(b, flags, count, i+1)
			to = next.key
		}
		return c.tree(e.child, e.key, to, depth+1)
	}
	bucket := e.bucket
	if bucket == nil {
		return nil
	}
	if len(bucket) < bucketHeader {
		return fmt.Errorf("entry %d: a bucket has only %d bytes", i, len(bucket))
	}
	if root := native.Uint64(bucket); root != 0 {
		return c.tree(root, nil, nil, depth+1)
	}
	if len(bucket) < bucketHeader+pageHeader {
		return fmt.Errorf("entry %d: a bucket has only %d bytes", i, len(bucket))
	}
	return c.elements(bucket[bucketHeader:], nil, nil, depth+1)
}

// free checks that every page is either used or listed as free.
func (c *checker) free() error {
	if c.freelist == noFreelist {
		return nil
	}
	b, err := c.page(c.freelist, 0)
	if err != nil {
		return err
	}
	where := func(format string, args ...any) error {
		return fmt.Errorf("page %d at byte %d: "+format, append([]any{c.freelist, int64(c.freelist) * c.pageSize},
			args...)...)
	}
	ids, n := b[pageHeader:], uint64(native.Uint16(b[10:]))
	if native.Uint16(b[8:]) != flagFreelist {
		return where("is not a list of free pages")
	}
	if n == manyFree {
		n, ids = native.Uint64(ids), ids[8:]
	}
	if n > uint64(len(ids)/8) {
		return where("%d free pages do not fit", n)
	}
	for i := range n {
		id := native.Uint64(ids[8*i:])
		if id < 2 || id >= c.high || c.used[id] {
			return where("page %d is listed as free but is in use, listed twice or outside the file", id)
		}
		c.used[id] = true
	}
	neither := 0
	for _, used := range c.used {
		if !used {
			neither++
		}
	}
	if neither > 0 {
		return where("%d pages are neither in use nor free", neither)
	}
	return nil
}
