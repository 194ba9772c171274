package main

import "fmt"

// inCountries and ofGenres are how many customers and tracks there are of each.
var (
	inCountries = []float64{13, 8, 5, 5, 4, 3, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
	ofGenres    = []float64{
		1297, 130, 374, 332, 12, 81, 579, 58, 48, 43, 15, 24, 28, 61, 30, 28, 35, 13, 93, 26, 64, 17, 40, 74, 1,
	}
)

// chinook makes the rows of a shop of music: 59 customers, of whom nearly all have bought seven times in five years.
func chinook() *rows {
	r := newRows(2009)
	prices := r.music()
	employee := r.table("employee (employee_id, last_name, first_name, title, reports_to, birth_date, hire_date, country)")
	employee(1, named("Family", 1), named("Given", 1), "Head", nil, day(1962, 2, 18), day(2002, 8, 14),
		named("Country", 8))
	for i := 2; i <= 8; i++ {
		born, hired := day(1950+3*i, 5, 2*i), day(2002+i/4, 4, 2*i)
		employee(i, named("Family", i), named("Given", i), "Agent", 1+i/6, born, hired, named("Country", 8))
	}
	customer := r.table("customer (customer_id, first_name, last_name, city, country, email, support_rep_id)")
	invoice := r.table("invoice (invoice_id, customer_id, invoice_date, billing_city, billing_country, total)")
	lines := r.table("invoice_line (invoice_line_id, invoice_id, track_id, unit_price, quantity)")
	sold, bought := []int{2, 4, 6, 9, 14, 1, 2}, 0
	line := 0
	for i := range 59 {
		country, city := named("Country", 1+r.pick(inCountries...)), named("City", i%53)
		customer(i+1, named("Given", i), named("Family", i), city, country, named("mail", i), 3+r.pick(21, 20, 18))
		for j := range 7 {
			if i == 58 && j == 6 { // one has bought six times
				break
			}
			bought++
			total, at := 0.0, r.between(day(2009, 1, 1), day(2014, 1, 1))
			for range sold[(i+j)%7] {
				line++
				track := r.IntN(len(prices))
				total += prices[track]
				lines(line, bought, track+1, prices[track], 1)
			}
			invoice(bought, i+1, day(at.Year(), int(at.Month()), at.Day()), city, country, fmt.Sprintf("%.2f", total))
		}
	}
	return r
}

// music makes tracks, and returns their prices.
func (r *rows) music() []float64 {
	genre, media := r.table("genre (genre_id, name)"), r.table("media_type (media_type_id, name)")
	for i := range ofGenres {
		genre(i+1, named("Genre", i+1))
	}
	for i := range 5 {
		media(i+1, named("Medium", i+1))
	}
	artist, album := r.table("artist (artist_id, name)"), r.table("album (album_id, title, artist_id)")
	for i := range 275 {
		artist(i+1, named("Artist", i+1))
	}
	for i := range 347 {
		album(i+1, named("Album", i+1), 1+int(204*r.Float64()*r.Float64()))
	}
	track := r.table("track (track_id, name, album_id, media_type_id, genre_id, milliseconds, bytes, unit_price)")
	list, of := r.table("playlist (playlist_id, name)"), r.table("playlist_track (playlist_id, track_id)")
	for i := range 18 {
		list(i+1, named("List", i+1))
	}
	var prices []float64
	for i := range 3503 {
		g, price := r.pick(ofGenres...), 0.99
		if g >= 17 && g <= 21 { // films
			price = 1.99
		}
		length := 60000 + int(330000*r.Float64())
		track(i+1, named("Track", i+1), 1+i*347/3503, 1+r.pick(3034, 237, 214, 7, 11), g+1, length, length*33, price)
		of(1, i+1)
		of(2+i%17, i+1)
		prices = append(prices, price)
	}
	return prices
}
